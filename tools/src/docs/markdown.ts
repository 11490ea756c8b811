import { Marked } from "marked";
import type { Tokens } from "marked";

/** Markdown → HTML. Headings can be linked to; links between `.md` files lead to their pages. */
export function renderMarkdown(markdown: string): string {
  const taken = new Map<string, number>();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const html = this.parser.parseInline(tokens);
        if (depth === 1) return `<h1>${html}</h1>\n`;
        const id = anchorOf(text, taken);
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${html}</a></h${depth}>\n`;
      },
    },
    walkTokens(token) {
      if (token.type === "link" && !/^[a-z]+:/.test(token.href as string)) {
        token.href = (token.href as string).replace(/\.md(?=#|$)/, ".html");
      }
    },
  });
  return marked.parse(markdown, { async: false });
}

function anchorOf(text: string, taken: Map<string, number>): string {
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replace(/\s+/g, "-");
  const times = taken.get(slug) ?? 0;
  taken.set(slug, times + 1);
  return times === 0 ? slug : `${slug}-${times}`;
}
