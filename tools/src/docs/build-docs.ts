import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { stringify } from "yaml";
import type { Files } from "../generated-files.js";
import type { Model } from "../model/model.js";
import { readModel } from "../model/read-model.js";
import { readExactExamples } from "../samples/exact-examples.js";
import { bundleScripts } from "./assets.js";
import { changelogMarkdown } from "./changelog.js";
import { pictureFiles, readGuides, withInstall } from "./guides.js";
import type { GuideGroup } from "./guides.js";
import { createCodeHighlighter } from "./highlight.js";
import type { Highlighter } from "./highlight.js";
import { llmsText } from "./llms.js";
import { operationsMatrix } from "./operations-matrix.js";
import type { Page, Section } from "./page/page.js";
import { referenceSection } from "./reference/reference.js";
import { renderSite } from "./render-site.js";
import { writeSite } from "./write-site.js";

export interface DocsOptions {
  /** Directory of the bundled documents. */
  spec: string;
  /** The package that the documents were bundled from: `examples/`, `stories/`. */
  contract: string;
  /** The docs package: `guides/`, `template/`, `browser/`. */
  docs: string;
  /** Files in it that do not belong to the site are removed. */
  output: string;
  /** Content-Security-Policy of each page. */
  policy: string;
  /** Whether the packages are in the registry of npm: guides install them from there, not from the running service. */
  published?: boolean;
  /** Saves time when the site is built again. */
  highlighter?: Highlighter;
}

export { createCodeHighlighter };
export type { Highlighter };

const documents = ["tracing", "training"];

/** Builds the whole site: static files that load nothing from other hosts, with relative links only. */
export async function buildDocs({
  spec,
  contract,
  docs,
  output,
  policy,
  published = false,
  ...kept
}: DocsOptions): Promise<void> {
  const template = join(docs, "template");
  const models = documents.map((name) => readModel(join(spec, `${name}.json`)));
  const exact = readExactExamples(join(contract, "examples"));
  const [scripts, highlighter] = await Promise.all([
    bundleScripts(join(docs, "browser")),
    kept.highlighter ?? createCodeHighlighter(),
  ]);
  const guides = readGuides(docs, published);
  const sections: Section[] = [
    guidesSection(guides),
    ...models.map((model) => referenceSection(model, exact)),
    pageSection(operationsMatrix(models, contract)),
    pageSection({
      path: "changelog",
      title: "Changelog",
      description: "What changed for those who use the packages or run the service.",
      markdown: changelogMarkdown(resolve(docs, "../..")),
    }),
  ];
  const first = withInstall(readFileSync(join(template, "first-lines.md"), "utf8"), published);
  const files: Files = { "llms.txt": llmsText(sections, models) };
  Object.assign(files, renderSite(sections, { template, policy, scripts, highlighter, first }));
  for (const model of models) Object.assign(files, openApiFiles(spec, model));
  Object.assign(files, examplePrograms(docs));
  await writeSite(output, files, pictureFiles(guides));
}

/** Groups of more guides than this are closed in the menu, but where one of them is read. */
const maxOpenGuides = 9;

function guidesSection(groups: readonly GuideGroup[]): Section {
  const path = (name: string) => `guides/${name}`;
  return {
    title: "Guides",
    menu: groups.map(({ guides, ...group }) => ({
      ...group,
      open: guides.length <= maxOpenGuides,
      entries: guides.map(({ name, title }) => ({ title, path: path(name) })),
    })),
    pages: groups.flatMap(({ guides }) => guides).map((guide) => ({ ...guide, path: path(guide.name) })),
  };
}

/** A section of one page. */
function pageSection(page: Page): Section {
  return { title: page.title, menu: [{ title: page.title, path: page.path }], pages: [page] };
}

/** The programs of the guides, which they download. */
function examplePrograms(docs: string): Files {
  const names = readdirSync(join(docs, "examples")).filter((name) => name.endsWith(".ts"));
  return Object.fromEntries(
    names.map((name) => [`examples/${name}`, readFileSync(join(docs, "examples", name), "utf8")]),
  );
}

/** The document for download, as JSON and as YAML. */
function openApiFiles(spec: string, { name, document }: Model): Files {
  return {
    [`openapi/${name}.json`]: readFileSync(join(spec, `${name}.json`), "utf8"),
    [`openapi/${name}.yaml`]: stringify(document, { aliasDuplicateObjects: false, lineWidth: 100 }),
  };
}
