import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Files } from "../generated-files.js";
import { nameAssets } from "./assets.js";
import type { Highlighter } from "./highlight.js";
import { renderMarkdown } from "./markdown.js";
import type { RenderCode, RenderedMarkdown } from "./markdown.js";
import { codeBlock } from "./page/markdown-text.js";
import type { Page, Section } from "./page/page.js";
import { searchIndex } from "./search-index.js";
import { createShell, landingHtml } from "./shell.js";
import { escapeHtml } from "./page/template.js";

export interface RenderOptions {
  /** Directory of the templates. */
  template: string;
  /** Content-Security-Policy of each page. */
  policy: string;
  /** Texts of the scripts. */
  scripts: { theme: string; script: string };
  highlighter: Highlighter;
}

/** The pages as HTML and as Markdown, the landing page, and what they load. */
export function renderSite(
  sections: readonly Section[],
  { template, policy, scripts, highlighter }: RenderOptions,
): Files {
  const renderCode: RenderCode = (code, language, title) =>
    codeHtml(highlighter.highlight(code, language), language, title);
  const rendered = sections.flatMap((section) =>
    section.pages.map((page) => ({ section, page, ...render(page, renderCode) })),
  );
  const commands = renderMarkdown(codeBlock("sh", landingCommands), renderCode).html;
  const style = `${readFileSync(join(template, "style.css"), "utf8")}${highlighter.rules()}\n`;
  const { assets, files } = nameAssets({ template, style, ...scripts });
  const shell = createShell({ template, policy, assets, sections });
  // Its name stays, so that a change of one page does not change all others.
  files["search-index.json"] = searchIndex(rendered);
  files["index.html"] = shell.plain(
    "Heddle",
    "Trace, evaluate and train language-model applications on your own machine",
    landingHtml(template, sections, commands),
  );
  for (const { section, page, html, sections: headings } of rendered) {
    files[`${page.path}.html`] = shell.article({ section, page, html, headings });
    files[`${page.path}.md`] = page.markdown.endsWith("\n") ? page.markdown : `${page.markdown}\n`;
  }
  return files;
}

const landingCommands = `npx -y pnpm@10.34.9 start   # install, build and run; prints where it listens and your key
npx -y pnpm@10.34.9 test    # install and run all tests`;

function render({ markdown, insert }: Page, renderCode: RenderCode): RenderedMarkdown {
  const { html, sections } = renderMarkdown(markdown, renderCode);
  return { html: insert === undefined ? html : insertAfterSection(html, insert), sections };
}

/** Before the heading that follows the section. */
function insertAfterSection(html: string, { after, html: added }: NonNullable<Page["insert"]>): string {
  const start = html.indexOf(`<h2 id="${after}">`);
  const next = html.indexOf("<h2 ", start + 1);
  return next < 0 ? html + added : html.slice(0, next) + added + html.slice(next);
}

/** A block of code under a row with its title or language, where a script adds the button that copies it. */
function codeHtml(lines: string, language: string, title: string): string {
  const named = title === "" ? "" : ` data-title="${escapeHtml(title)}"`;
  const head = `<p class="code-head"><span>${escapeHtml(title || language)}</span></p>`;
  return `<div class="code"${named}>${head}<pre tabindex="0"><code>${lines}\n</code></pre></div>\n`;
}
