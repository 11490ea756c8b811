import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Files } from "../generated-files.js";
import { readModel } from "../model/read-model.js";
import { redocly } from "../redocly.js";
import { readExactExamples } from "../samples/exact-examples.js";
import { bundleScripts, nameAssets } from "./assets.js";
import { changelogMarkdown } from "./changelog.js";
import { readGuides } from "./guides.js";
import { createCodeHighlighter } from "./highlight.js";
import { llmsText } from "./llms.js";
import { renderMarkdown } from "./markdown.js";
import type { RenderCode, RenderedMarkdown } from "./markdown.js";
import { codeBlock } from "./markdown-text.js";
import type { Page, Section } from "./page.js";
import { referenceSection } from "./reference/reference.js";
import { searchIndex } from "./search-index.js";
import { createShell, landingHtml } from "./shell.js";
import { escapeHtml } from "./template.js";
import { writeSite } from "./write-site.js";

export interface DocsOptions {
  /** Directory of the bundled documents. */
  spec: string;
  /** Directory of the examples that the documents were bundled from. */
  examples: string;
  /** The docs package: `guides/`, `template/`, `browser/`. */
  docs: string;
  /** What it held before and does not belong to the site is removed. */
  output: string;
  /** Content-Security-Policy of each page. */
  policy: string;
}

/** Builds the whole site: static files that load nothing from other hosts, with relative links only. */
export async function buildDocs({ spec, examples, docs, output, policy }: DocsOptions): Promise<void> {
  const template = join(docs, "template");
  const documents = ["tracing", "training"];
  const models = documents.map((name) => readModel(join(spec, `${name}.json`)));
  const [scripts, highlighter, downloads] = await Promise.all([
    bundleScripts(join(docs, "browser")),
    createCodeHighlighter(),
    Promise.all(documents.map((name) => openApiFiles(spec, name))),
  ]);
  const renderCode: RenderCode = (code, language, title) =>
    codeHtml(highlighter.highlight(code, language), language, title);

  const guides = readGuides(docs);
  const exact = readExactExamples(examples);
  const sections: Section[] = [
    guidesSection(guides),
    ...models.map((model) => referenceSection(model, exact)),
    pageSection({
      path: "changelog",
      title: "Changelog",
      description: "What changed for those who use the packages or run the service.",
      markdown: changelogMarkdown(resolve(docs, "../..")),
    }),
  ];
  const rendered = sections.flatMap((section) =>
    section.pages.map((page) => ({ section, page, ...render(page, renderCode) })),
  );
  const commands = renderMarkdown(codeBlock("sh", landingCommands), renderCode).html;
  const style = `${readFileSync(join(template, "style.css"), "utf8")}${highlighter.rules()}\n`;
  const { assets, files } = nameAssets({ template, style, ...scripts, index: searchIndex(rendered) });
  const shell = createShell({ template, policy, assets, sections });

  Object.assign(files, ...downloads);
  files["index.html"] = shell.plain(
    "Heddle",
    "Trace language-model applications on your own machine",
    landingHtml(template, sections, commands),
  );
  files["llms.txt"] = llmsText(sections, models);
  for (const { section, page, html, sections: headings } of rendered) {
    files[`${page.path}.html`] = shell.article({ section, page, html, headings });
    files[`${page.path}.md`] = page.markdown.endsWith("\n") ? page.markdown : `${page.markdown}\n`;
  }
  await writeSite(output, files);
}

const landingCommands = `npx -y pnpm@10.34.9 start   # install, build and run; prints where it listens and your key
npx -y pnpm@10.34.9 test    # install and run all tests`;

function guidesSection(guides: ReturnType<typeof readGuides>): Section {
  const pages = guides.map(({ name, ...guide }) => ({ path: `guides/${name}`, ...guide }));
  return { title: "Guides", menu: pages.map(({ title, path }) => ({ title, path })), pages };
}

/** A section of one page. */
function pageSection(page: Page): Section {
  return { title: page.title, menu: [{ title: page.title, path: page.path }], pages: [page] };
}

function render({ markdown, insert }: Page, renderCode: RenderCode): RenderedMarkdown {
  const { html, sections } = renderMarkdown(markdown, renderCode);
  return { html: insert === undefined ? html : insertAfterSection(html, insert), sections };
}

/** Before the heading that follows the section. Without the section, before the first heading of level 2. */
function insertAfterSection(html: string, { after, html: added }: NonNullable<Page["insert"]>): string {
  const start = html.indexOf(`<h2 id="${after}">`);
  const next = html.indexOf("<h2 ", start + 1);
  return next < 0 ? html + added : html.slice(0, next) + added + html.slice(next);
}

/** A block of code under a row with its title or language, where a script adds the button that copies it. */
function codeHtml(lines: string, language: string, title: string): string {
  const named = title === "" ? "" : ` data-title="${escapeHtml(title)}"`;
  return `<div class="code"${named}><p class="code-head"><span>${escapeHtml(title || language)}</span></p><pre tabindex="0"><code>${lines}\n</code></pre></div>\n`;
}

async function openApiFiles(spec: string, name: string): Promise<Files> {
  const document = resolve(spec, `${name}.json`);
  return {
    [`openapi/${name}.json`]: readFileSync(document, "utf8"),
    [`openapi/${name}.yaml`]: await redocly(["bundle", document, "--ext", "yaml"], spec),
  };
}
