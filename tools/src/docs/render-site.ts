import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import type { Files } from "../generated-files.js";
import { nameAssets } from "./assets.js";
import type { Highlighter } from "./highlight.js";
import { renderMarkdown } from "./markdown.js";
import type { RenderCode, RenderedMarkdown } from "./markdown.js";
import type { Page, Section } from "./page/page.js";
import { searchIndex } from "./search-index.js";
import { landingHtml } from "./landing.js";
import { methodBadge } from "./page/method-badge.js";
import { createShell } from "./shell.js";
import { escapeHtml } from "./page/template.js";

export interface RenderOptions {
  /** Directory of the templates. */
  template: string;
  /** Content-Security-Policy of each page. */
  policy: string;
  /** Texts of the scripts. */
  scripts: { theme: string; script: string };
  highlighter: Highlighter;
  /** Markdown of the code that the first page begins with. */
  first: string;
}

/** The pages as HTML and as Markdown, the landing page, and what they load. */
export function renderSite(
  sections: readonly Section[],
  { template, policy, scripts, highlighter, first }: RenderOptions,
): Files {
  const renderCode: RenderCode = (code, language, title) =>
    codeHtml(highlighter.highlight(code, language), language, title);
  const rendered = sections.flatMap((section) =>
    section.pages.map((page) => ({ section, page, ...render(page, renderCode) })),
  );
  const firstLines = renderMarkdown(first, { renderCode }).html;
  const style = `${readFileSync(join(template, "style.css"), "utf8")}${highlighter.rules()}\n`;
  const { assets, files } = nameAssets({ template, style, ...scripts });
  const shell = createShell({ template, policy, assets, sections });
  // Its name stays, so that a change of one page does not change all others.
  files["search-index.json"] = searchIndex(rendered);
  files["index.html"] = shell.plain(
    "Heddle",
    "Trace, evaluate and train language-model applications on your own machine",
    landingHtml(template, sections, firstLines),
  );
  files["404.html"] = shell.lost("No such page", readFileSync(join(template, "404.html"), "utf8"));
  for (const { section, page, html, sections: headings } of rendered) {
    files[`${page.path}.html`] = shell.article({ section, page, html, headings });
    for (const [href, svg] of Object.entries(page.figures ?? {})) {
      files[posix.join(posix.dirname(page.path), href)] = standalone(svg);
    }
    files[`${page.path}.md`] = page.markdown.endsWith("\n") ? page.markdown : `${page.markdown}\n`;
  }
  return files;
}

function render(
  { markdown, insert, beside, method, figures, pictures }: Page,
  renderCode: RenderCode,
): RenderedMarkdown {
  const { html: text, sections } = renderMarkdown(markdown, { renderCode, figures, pictures });
  const titled = method === undefined ? text : text.replace("<h1>", `<h1>${methodBadge(method)} `);
  return { html: beside === true ? withBeside(titled, insert) : withInsert(titled, insert), sections };
}

/** Where a section begins, and the heading that follows it; the end of the page where none does. */
function rangeOf(html: string, id: string | undefined): [start: number, end: number] {
  const start = id === undefined ? 0 : html.indexOf(`<h2 id="${id}">`);
  const next = html.indexOf("<h2 ", start + 1);
  return [start, next < 0 ? html.length : next];
}

function withInsert(html: string, insert: Page["insert"]): string {
  if (insert === undefined) return html;
  const [, end] = rangeOf(html, insert.after);
  return html.slice(0, end) + insert.html + html.slice(end);
}

/** The page in three parts: what is above a section, the section with what follows it, and the others. */
function withBeside(html: string, insert: Page["insert"]): string {
  const [start, end] = rangeOf(html, insert?.after);
  if (start < 0) return withInsert(html, insert);
  const part = (name: string, text: string) => `<div class="${name}">${text}</div>\n`;
  const beside = html.slice(start, end) + (insert?.html ?? "");
  return part("above", html.slice(0, start)) + part("beside", beside) + part("below", html.slice(end));
}

/** Colours of a figure that is seen outside of a page, on white. */
const colours: Readonly<Record<string, string>> = {
  ink: "#1d2126",
  quiet: "#5b6470",
  line: "#c6ccd4",
  code: "#f5f6f8",
  thread: "#6d4bd1",
};

/** A figure as a file, which the Markdown of its page shows. */
const standalone = (svg: string): string =>
  svg
    .replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    .replace(/var\(--(\w+)\)/g, (_, name: string) => colours[name] ?? "currentColor");

/** A block of code under a row with its title or language, where a script adds the button that copies it. */
function codeHtml(lines: string, language: string, title: string): string {
  const named = title === "" ? "" : ` data-title="${escapeHtml(title)}"`;
  const head = `<p class="code-head"><span>${escapeHtml(title || language)}</span></p>`;
  // Tables and trees of plain text do not survive other line breaks.
  const kept = language === "text" || language === "output" ? " kept" : "";
  return `<div class="code${kept}"${named}>${head}<pre tabindex="0"><code>${lines}\n</code></pre></div>\n`;
}
