import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Model, Operation } from "../model/model.js";
import { kebabCase } from "./page.js";
import type { Page } from "./page.js";

/**
 * The page that lists every operation of the documents with what a user has of it: its page, the method of the client, the
 * handler of the server stub, what a key needs, and the stories of the `spec` folder that use it.
 */
export function operationsMatrix(models: Model[], spec: string): Page {
  const operations = models.flatMap((model) => model.operations);
  const extensions = operations.filter(({ extension }) => extension).length;
  const title = "Operations";
  const description = `All ${operations.length} operations with their request, client method, handler and access.`;
  const stories = storiesOf(spec);
  const intro = `${description} ${operations.length - extensions} are those of the interfaces that Heddle is compatible with; ${extensions} are added by Heddle and marked _extension_.

Every operation has a handler in the service, a method in \`@heddle/client\`, an entry in the handler types of \`@heddle/server-stub\` and a page here. Tests hold all of them against the same documents. The last column counts the stories (executable sequences of requests) that use the operation.`;
  const sections = models.map((model) => section(model, stories));
  return { path: "operations", title, description, markdown: [`# ${title}`, intro, ...sections].join("\n\n") + "\n" };
}

function section(model: Model, stories: Map<string, number>): string {
  const groups = model.groups.map(({ tag, operations }) =>
    [
      `### ${tag}`,
      "",
      "| Operation | Request | Client | Handler | Key | Stories |",
      "| --- | --- | --- | --- | --- | --- |",
      ...operations.map((operation) => row(model, operation, stories.get(operation.id) ?? 0)),
    ].join("\n"),
  );
  return [`## ${model.title}`, ...groups].join("\n\n");
}

function row({ name }: Model, operation: Operation, stories: number): string {
  const { id, method, path, group, extension, summary } = operation;
  const mark = extension ? " _extension_" : "";
  const cells = [
    `[${summary}](${name}/${kebabCase(id)}.md)${mark}`,
    `\`${method.toUpperCase()} ${path}\``,
    `\`${name}.${id}\`${returned(operation)}`,
    `\`${group}.${id}\``,
    accessText(operation),
    stories > 0 ? String(stories) : "",
  ];
  return `| ${cells.join(" | ")} |`;
}

function returned({ stream, streamOptional }: Operation): string {
  if (stream === undefined) return "";
  const kind = stream === "sse" ? "events" : "lines";
  return streamOptional ? `, ${kind} with \`stream\`` : `, ${kind}`;
}

function accessText({ access, public: open }: Operation): string {
  return access === undefined || open ? "none" : access.right;
}

/** operationId → number of stories with a step that calls it. */
function storiesOf(spec: string): Map<string, number> {
  const counts = new Map<string, number>();
  const directory = join(spec, "stories");
  for (const file of readdirSync(directory).filter((name) => name.endsWith(".arazzo.yaml"))) {
    const text = readFileSync(join(directory, file), "utf8");
    const used = new Set([...text.matchAll(/^\s*operationId: (?:\S+\.)?(\w+)$/gm)].map(([, id]) => id!));
    for (const id of used) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}
