import { Marked } from "marked";
import type { Token, Tokens } from "marked";
import { methodBadge } from "./page/method-badge.js";
import { escapeHtml } from "./page/template.js";

export interface Heading {
  depth: number;
  id: string;
  text: string;
}

/** A heading with the plain text up to the next one. The first has depth 1. */
export interface TextSection extends Heading {
  body: string;
}

export interface RenderedMarkdown {
  html: string;
  sections: TextSection[];
}

/** Returns the HTML of a block of code. `title` is what follows the language. */
export type RenderCode = (code: string, language: string, title: string) => string;

interface MarkdownOptions {
  renderCode?: RenderCode;
  /** SVG by the address that an image has: it is drawn in the page, in the colours of its scheme. */
  figures?: Readonly<Record<string, string>> | undefined;
  /** Sizes of pictures in pixels, by their addresses: the page keeps room for them until they are loaded. */
  pictures?: Readonly<Record<string, { width: number; height: number }>> | undefined;
}

/**
 * Markdown → HTML. Headings can be linked to; links between `.md` files lead to their pages. Raw HTML is text: what the
 * contract says comes from elsewhere. Comments are left out.
 */
export function renderMarkdown(
  markdown: string,
  { renderCode = plainCode, figures = {}, pictures = {} }: MarkdownOptions = {},
): RenderedMarkdown {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, id }: Tokens.Heading & { id?: string }) {
        const html = this.parser.parseInline(tokens);
        if (depth === 1) return `<h1>${html}</h1>\n`;
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${html}</a></h${depth}>\n`;
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag) => (text.trim().startsWith("<!--") ? "" : escapeHtml(text)),
      code({ text, lang = "" }: Tokens.Code) {
        const [language = "", ...title] = lang.split(/\s+/);
        return renderCode(text, language, title.join(" "));
      },
      // A method and a path, as the reference names a request.
      codespan({ text }: Tokens.Codespan) {
        const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/.*)$/.exec(text) ?? [];
        if (method === undefined || path === undefined) return `<code>${escapeHtml(text)}</code>`;
        return `<code class="request">${methodBadge(method)} <span>${escapeHtml(path)}</span></code>`;
      },
      link({ href, tokens }: Tokens.Link) {
        const html = this.parser.parseInline(tokens);
        const target = pageHref(href);
        return target === undefined ? html : `<a href="${escapeHtml(target)}">${html}</a>`;
      },
      // Pages load nothing from other hosts.
      image({ href, text }: Tokens.Image) {
        if (Object.hasOwn(figures, href)) {
          return `<span class="figure" tabindex="0" role="group" aria-label="Figure">${figures[href] ?? ""}</span>`;
        }
        const picture = Object.hasOwn(pictures, href) ? pictures[href] : undefined;
        if (picture !== undefined) {
          const size = `width="${picture.width}" height="${picture.height}"`;
          return `<a class="screen" href="${escapeHtml(href)}"><img src="${escapeHtml(href)}" ${size} loading="lazy" alt="${escapeHtml(text)}"></a>`;
        }
        return isRelative(href) ? `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}">` : escapeHtml(text);
      },
      table(token: Tokens.Table) {
        const cell = (text: string, tag: string, attributes = "") => `<${tag}${attributes}>${text}</${tag}>`;
        const row = (cells: Tokens.TableCell[], write: (text: string) => string) =>
          `<tr>${cells.map(({ tokens }) => write(this.parser.parseInline(tokens))).join("")}</tr>\n`;
        // A header without text would be announced for every cell below it.
        const header = (text: string) => (text === "" ? cell(text, "td") : cell(text, "th", ' scope="col"'));
        const head = `<thead>${row(token.header, header)}</thead>`;
        const body = token.rows.map((cells) => row(cells, (text) => cell(text, "td"))).join("");
        return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>\n${body}</tbody></table></div>\n`;
      },
    },
  });
  const tokens = marked.lexer(markdown);
  const sections = sectionsOf(tokens);
  return { html: marked.parser(tokens), sections };
}

function plainCode(code: string): string {
  return `<pre tabindex="0"><code>${escapeHtml(code)}\n</code></pre>\n`;
}

function isRelative(href: string): boolean {
  return !/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(href);
}

/** Where a link leads on the site; undefined for schemes that a page may not use. */
function pageHref(href: string): string | undefined {
  if (!isRelative(href)) return /^(?:https?|mailto):/i.test(href) ? href : undefined;
  return href.replace(/\.md(?=#|$)/, ".html");
}

/** Gives each heading its id, and collects the text below it. */
function sectionsOf(tokens: Token[]): TextSection[] {
  const taken = new Map<string, number>();
  const sections: TextSection[] = [];
  for (const token of tokens) {
    if (token.type === "heading") {
      const { depth, tokens: inline } = token as Tokens.Heading;
      const text = textOf(inline).trim();
      const id = anchorOf(text, taken);
      Object.assign(token, { id });
      sections.push({ depth, id, text, body: "" });
    } else {
      const section = sections.at(-1);
      if (section !== undefined) section.body += `${textOf([token])} `;
    }
  }
  return sections;
}

/** The text of tokens, without marks, comments and what programs output, which repeats what is around it. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "table") {
        const { header, rows } = token as Tokens.Table;
        return [header, ...rows].map((cells) => cells.map((cell) => textOf(cell.tokens)).join(" ")).join(" ");
      }
      if (token.type === "list") return (token as Tokens.List).items.map((item) => textOf(item.tokens)).join(" ");
      if (token.type === "html" || (token.type === "code" && token["lang"] === "output")) return "";
      if ("tokens" in token && token.tokens !== undefined) return textOf(token.tokens);
      return "text" in token ? token.text : token.type === "space" ? " " : "";
    })
    .join("");
}

/** An id in the way of GitHub. Headings of one text are numbered. */
function anchorOf(text: string, taken: Map<string, number>): string {
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s+/g, "-");
  const times = taken.get(slug) ?? 0;
  taken.set(slug, times + 1);
  return times === 0 ? slug : `${slug}-${times}`;
}
