import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { changelogMarkdown } from "./changelog.js";
import { readGuides } from "./guides.js";
import type { Guide } from "./guides.js";
import { llmsText } from "./llms.js";
import { renderMarkdown } from "./markdown.js";
import { escapeHtml, readTemplate } from "./template.js";
import { isEntry } from "../entry.js";
import type { Model } from "../model/model.js";
import { readModel } from "../model/read-model.js";
import { redocly } from "../redocly.js";

export interface DocsDirectories {
  /** Directory of the bundled documents. */
  spec: string;
  /** The docs package: `guides/`, `template/`. */
  docs: string;
  /** Written anew. */
  output: string;
}

/** Builds the whole site: static files that load nothing from other hosts, with relative links only. */
export async function buildDocs({ spec, docs, output }: DocsDirectories): Promise<void> {
  const guides = readGuides(docs);
  const models = ["tracing", "training"].map((name) => readModel(join(spec, `${name}.json`)));
  rmSync(output, { recursive: true, force: true });
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(output, name)), { recursive: true });
    writeFileSync(join(output, name), text);
  };
  const template = join(docs, "template");
  const page = pageWriter(template);
  const article = readTemplate(template, "article.html");

  put(
    "index.html",
    page("", "Heddle", "Trace language-model applications on your own machine", landing(template, guides, models)),
  );
  for (const guide of guides) {
    const body = article({ guides: sideLinks(guides, guide.name, ""), content: renderMarkdown(guide.markdown) });
    put(`guides/${guide.name}.html`, page("../", `${guide.title} · Heddle`, guide.description, body));
    put(`guides/${guide.name}.md`, guide.markdown);
  }
  const changelog = article({
    guides: sideLinks(guides, "", "guides/"),
    content: renderMarkdown(changelogMarkdown(resolve(docs, "../.."))),
  });
  put("changelog.html", page("", "Changelog · Heddle", "What changed", changelog));
  put("llms.txt", llmsText(guides, models));
  for (const model of models) await putReference(model, spec, template, output);
}

async function putReference({ name, title }: Model, spec: string, template: string, output: string): Promise<void> {
  const document = resolve(spec, `${name}.json`);
  mkdirSync(join(output, "openapi"), { recursive: true });
  copyFileSync(document, join(output, "openapi", `${name}.json`));
  await redocly(
    ["bundle", document, "--ext", "yaml", "--output", resolve(output, "openapi", `${name}.yaml`)],
    template,
  );
  const page = [
    "--output",
    resolve(output, `${name}.html`),
    "--title",
    `${title} · Heddle`,
    "--template",
    "reference.hbs",
  ];
  // The value has to be explicit: the bare flag leaves telemetry on for readers.
  const closed = ["--inlineBundle", "--openapi.disableTelemetry=true"];
  await redocly(["build-docs", document, ...page, ...closed], template);
  closeReference(join(output, `${name}.html`));
}

// The renderer's footer shows the logo of its vendor from the vendor's server, which the policy blocks. With the name
// as an inline image instead it is not requested.
const maker =
  "%3Csvg xmlns='http://www.w3.org/2000/svg' width='46' height='12'%3E%3Ctext y='10' font-size='11' font-family='sans-serif' fill='gray'%3ERedocly%3C/text%3E%3C/svg%3E";

function closeReference(path: string): void {
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replaceAll(/https:\/\/cdn\.redoc\.ly\/[\w./-]*/g, `data:image/svg+xml,${maker}`));
}

function pageWriter(template: string) {
  const fill = readTemplate(template, "page.html");
  const style = readFileSync(join(template, "style.css"), "utf8");
  return (root: string, title: string, description: string, body: string) =>
    fill({ root, title: escapeHtml(title), description: escapeHtml(description), style, body });
}

function landing(template: string, guides: Guide[], models: Model[]): string {
  const fill = readTemplate(template, "landing.html");
  return fill({
    picture: readFileSync(join(template, "picture.svg"), "utf8"),
    guides: guides.map(({ name, title, description }) => card(`guides/${name}.html`, title, description)).join("\n"),
    references: models
      .map(({ name, title, operations, groups }) => {
        const tags = groups.map(({ tag }) => tag).join(", ");
        return card(`${name}.html`, title, `${operations.length} operations: ${tags}`);
      })
      .join("\n"),
  });
}

function card(href: string, title: string, text: string): string {
  return `<li><a href="${href}"><strong>${escapeHtml(title)}</strong><span>${escapeHtml(text)}</span></a></li>`;
}

function sideLinks(guides: Guide[], current: string, root: string): string {
  return guides
    .map(({ name, title }) => {
      const mark = name === current ? ' aria-current="page"' : "";
      return `<li><a href="${root}${name}.html"${mark}>${escapeHtml(title)}</a></li>`;
    })
    .join("\n");
}

if (isEntry(import.meta.url)) {
  const [spec = "", docs = "", output = ""] = process.argv.slice(2);
  await buildDocs({ spec: resolve(spec), docs: resolve(docs), output: resolve(output) });
}
