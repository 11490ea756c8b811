import type { Guide } from "./guides.js";
import type { Model } from "../model/model.js";

/** `llms.txt`: what there is to read, with every operation in one line, for programs that read instead of browse. */
export function llmsText(guides: Guide[], models: Model[]): string {
  return [
    "# Heddle",
    "",
    "> Self-hosted service that records the calls of language-model applications as traces, with their objects, tables",
    "> and files. One port, an OpenAPI 3.1 contract, a typed TypeScript client and a server stub.",
    "",
    "## Guides",
    "",
    ...guides.map(({ name, title, description }) => `- [${title}](guides/${name}.md): ${description}`),
    "",
    "## Contracts",
    "",
    ...models.map(({ name, title }) => `- [${title}](openapi/${name}.json): the whole OpenAPI document`),
    ...models.flatMap(({ title, groups }) => [
      "",
      `## Operations: ${title}`,
      "",
      ...groups.flatMap(({ operations }) =>
        operations.map(({ id, method, path, summary }) => `- \`${id}\` ${method.toUpperCase()} ${path}: ${summary}`),
      ),
    ]),
    "",
  ].join("\n");
}
