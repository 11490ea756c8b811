import { blocks, codeSpan } from "../page/markdown-text.js";
import type { Page } from "../page/page.js";
import { componentsOf, schemasIn, sharedResponses } from "./components.js";
import type { ReferenceContext } from "./context.js";
import { exampleBlocks, mediaPointer } from "./examples.js";
import { typeText } from "./type-text.js";

/** Id of the section on a shared response. */
export function errorAnchor(status: number, name: string): string {
  return `${status}-${name.toLowerCase()}`;
}

/** The page of the responses that many operations share. */
export function errorsPage(context: ReferenceContext): Page {
  const { model } = context;
  const { document } = model;
  const path = `${model.name}/errors`;
  const link = context.linksFrom(path);
  const shared = sharedResponses(model);
  const sections = shared.map(({ name, response: { status, description, headers, contents } }) =>
    blocks(
      `## ${status} ${name}`,
      description,
      headers.length === 0 ? undefined : `Headers: ${headers.map(codeSpan).join(", ")}.`,
      contents.map(({ mediaType, schema, pointer }) =>
        blocks(
          `${codeSpan(mediaType)}${schema === undefined ? "" : `: ${typeText(document, schema, link)}`}.`,
          exampleBlocks(context.examples(mediaPointer(pointer))),
        ),
      ),
    ),
  );
  const schemas = shared.flatMap(({ response }) => schemasIn(response));
  const components = [...componentsOf(document, schemas)].filter((name) => context.pages.get(name) === path);
  const title = `Errors: ${context.section}`;
  const description = `Error responses that operations of ${model.title} share.`;
  return {
    path,
    title,
    description,
    markdown: blocks(
      `# ${title}`,
      description,
      "Errors that only one operation has are on its page.",
      sections,
      components.map((name) => context.componentText(name, link, 2)),
    ),
  };
}
