import { componentName } from "../../model/openapi.js";
import type { Group, Model } from "../../model/model.js";
import type { ExactExamples } from "../../samples/exact-examples.js";
import { operationSamples } from "../../samples/operation-samples.js";
import { blocks, codeSpan, firstSentence, plainText, table } from "../page/markdown-text.js";
import { kebabCase } from "../page/page.js";
import type { MenuEntry, Page, Section } from "../page/page.js";
import { componentPages, operationPath, resolved, typesPath } from "./components.js";
import type { ComponentPages } from "./components.js";
import type { ReferenceContext } from "./context.js";
import { errorsPage } from "./errors-page.js";
import { examplesAt } from "./examples.js";
import { operationPage } from "./operation-page.js";
import { schemaText } from "./schema-text.js";
import type { LinkTo } from "./type-text.js";

/** The reference of one document: a page for each operation, one for the types of each group, errors, and an index. */
export function referenceSection(model: Model, exact: ExactExamples): Section {
  const pages = componentPages(model);
  const context: ReferenceContext = {
    model,
    section: sectionTitle(model),
    pages,
    samples: (operation) => operationSamples(model, operation, exact),
    examples: (pointer) => examplesAt(model.document, pointer, exact),
    linksFrom: (path) => linksFrom(pages, path),
    componentText: (name, link, level) => componentText(model, name, link, level),
  };
  const groups = model.groups.map((group) => groupPages(context, group));
  const shared = typesPages(context, undefined, `Shared types: ${sectionTitle(model)}`);
  const errors = errorsPage(context);
  const index = indexPage(context);
  const rest = [...shared, errors];
  return {
    title: sectionTitle(model),
    menu: [
      { title: "Overview", path: index.path },
      ...groups.map(({ tag, entries }) => ({ title: tag, entries })),
      ...rest.map(({ path }) => ({ title: path === errors.path ? "Errors" : "Shared types", path })),
    ],
    pages: [index, ...groups.flatMap(({ pages }) => pages), ...rest],
  };
}

/** `tracing` → `Tracing`. */
function sectionTitle({ name }: Model): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

interface GroupPages {
  tag: string;
  pages: Page[];
  entries: MenuEntry[];
}

function groupPages(context: ReferenceContext, { key, tag, operations }: Group): GroupPages {
  const types = typesPages(context, key, `Types: ${tag}`);
  return {
    tag,
    pages: [...operations.map((operation) => operationPage(context, operation)), ...types],
    entries: [
      ...operations.map((operation) => ({
        title: operation.summary,
        path: operationPath(context.model, operation),
        method: operation.method,
      })),
      ...types.map(({ path }) => ({ title: "Types", path })),
    ],
  };
}

/** A page when there are components for it, else none. */
function typesPages(context: ReferenceContext, group: string | undefined, title: string): Page[] {
  const { model, pages } = context;
  const path = typesPath(model, group);
  const names = [...pages].flatMap(([name, page]) => (page === path ? name : []));
  if (names.length === 0) return [];
  const description =
    group === undefined
      ? `Types that operations of several groups of ${model.title} use.`
      : `Types that several of these operations use.`;
  const link = context.linksFrom(path);
  const sections = names.map((name) => context.componentText(name, link, 2));
  return [{ path, title, description, markdown: blocks(`# ${title}`, description, sections) }];
}

function componentText(model: Model, name: string, link: LinkTo, level: 2 | 3): string {
  const schema = model.document.components?.schemas?.[name] ?? {};
  const alias = componentName(schema);
  return blocks(
    `${"#".repeat(level)} ${name}`,
    schema.description ?? resolved(model.document, schema).description,
    alias === undefined ? undefined : `The same as [${alias}](${link(alias)}).`,
    schemaText(model.document, schema, link),
  );
}

function indexPage({ model }: ReferenceContext): Page {
  const groups = model.groups.map(({ tag, description, operations }) =>
    blocks(
      `## ${tag}`,
      description,
      table(
        ["Operation", "Request", "Does"],
        operations.map((operation) => [
          `[${operation.id}](${kebabCase(operation.id)}.md)`,
          codeSpan(`${operation.method.toUpperCase()} ${operation.path}`),
          operation.summary,
        ]),
      ),
    ),
  );
  const { description = "" } = model.document.info;
  return {
    path: `${model.name}/index`,
    title: model.title,
    description: plainText(firstSentence(description)),
    markdown: blocks(
      `# ${model.title}`,
      `Version ${model.version}. The whole contract as one OpenAPI 3.1 document: [JSON](../openapi/${model.name}.json), ` +
        `[YAML](../openapi/${model.name}.yaml).`,
      description,
      groups,
    ),
  };
}

function linksFrom(pages: ComponentPages, path: string): LinkTo {
  return (name) => {
    const page = pages.get(name);
    const anchor = `#${name.toLowerCase()}`;
    return page === undefined || page === path ? anchor : `${page.slice(page.lastIndexOf("/") + 1)}.md${anchor}`;
  };
}
