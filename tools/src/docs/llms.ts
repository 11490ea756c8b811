import type { Model } from "../model/model.js";
import type { Section } from "./page/page.js";
import { operationPath } from "./reference/components.js";

/** `llms.txt`: what there is to read, each page by its Markdown, for programs that read instead of browse. */
export function llmsText([guides, ...others]: readonly Section[], models: readonly Model[]): string {
  return [
    "# Heddle",
    "",
    "> Self-hosted service that records the calls of language-model applications as traces, with their objects, tables",
    "> and files, and trains models on them. One port, an OpenAPI 3.1 contract, a typed TypeScript client and a server",
    "> stub.",
    "",
    "## Guides",
    "",
    ...(guides?.pages ?? []).map(({ path, title, description }) => `- [${title}](${path}.md): ${description}`),
    "",
    "## Contracts",
    "",
    ...models.map(({ name, title }) => `- [${title}](openapi/${name}.json): the whole OpenAPI document`),
    ...models.flatMap((model) => [
      "",
      `## Operations: ${model.title}`,
      "",
      ...model.groups.flatMap(({ operations }) =>
        operations.map((operation) => {
          const { id, method, path, summary } = operation;
          return `- [\`${id}\`](${operationPath(model, operation)}.md) ${method.toUpperCase()} ${path}: ${summary}`;
        }),
      ),
    ]),
    "",
    "## More",
    "",
    ...others.flatMap(({ pages, menu }) => {
      const listed = new Set(menu.flatMap((item) => ("path" in item ? item.path : [])));
      return pages
        .filter(({ path }) => listed.has(path))
        .map(({ path, title, description }) => `- [${title}](${path}.md): ${description}`);
    }),
    "",
  ].join("\n");
}
