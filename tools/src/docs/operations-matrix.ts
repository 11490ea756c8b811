import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { planOf } from "../conformance/plan-of.js";
import type { Model, Operation } from "../model/model.js";
import { kebabCase } from "./page/page.js";
import type { Page } from "./page/page.js";

/**
 * The page that lists every operation of the documents with what a user has of it: its page, the method of the client, the
 * handler of the server stub, what a key needs, what the conformance kit has of it, and the stories of the `spec` folder
 * that use it.
 */
export function operationsMatrix(models: Model[], spec: string): Page {
  const operations = models.flatMap((model) => model.operations);
  const extensions = operations.filter(({ extension }) => extension).length;
  const title = "Operations";
  const description = `All ${operations.length} operations with their request, client method, handler and access.`;
  const stories = storiesOf(spec);
  const intro = `${description} ${operations.length - extensions} are those of the interfaces that Heddle is compatible with; ${extensions} are added by Heddle and marked _extension_.

Every operation has a handler in the service, a method in \`@heddle/client\`, an entry in the handler types of \`@heddle/server-stub\` and a page here. Tests hold all of them against the same documents. \`heddle conformance\` judges every operation: the column says how many example requests it sends to begin with, and with how many descriptions it compares responses, one for each status. Both are counted in the plan that the command works by; the requests that it derives from the examples, such as invalid ones, are not. The last column counts the stories (executable sequences of requests) that use the operation.`;
  const sections = models.map((model) => section(model, stories));
  const markdown = [`# ${title}`, intro, ...sections].join("\n\n") + "\n";
  return { path: "operations", title, description, markdown, insert: { html: filterForm }, wide: true };
}

/** A script shows it, and leaves the rows that have every word. */
const filterForm =
  '<p class="filter" hidden><label>Filter <input type="search" autocomplete="off" placeholder="calls write, training, GET" /></label> <output></output></p>\n';

function section(model: Model, stories: Map<string, number>): string {
  const judged = judgedParts(model);
  const groups = model.groups.map(({ tag, operations }) =>
    [
      `### ${tag}`,
      "",
      "| Operation | Request | Client | Handler | Key | Conformance | Stories |",
      "| --- | --- | --- | --- | --- | --- | --- |",
      ...operations.map((operation) =>
        row(model, operation, judged.get(operation.id) ?? "", stories.get(operation.id) ?? 0),
      ),
    ].join("\n"),
  );
  return [`## ${model.title}`, ...groups].join("\n\n");
}

function row({ name }: Model, operation: Operation, conformance: string, stories: number): string {
  const { id, method, path, group, extension, summary } = operation;
  const mark = extension ? " _extension_" : "";
  const cells = [
    `[${summary}](${name}/${kebabCase(id)}.md)${mark}`,
    `\`${method.toUpperCase()} ${path}\``,
    `\`${name}.${id}\`${returned(operation)}`,
    `\`${group}.${id}\``,
    accessText(operation),
    conformance,
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

/** operationId → what the plan of the conformance kit has to judge the operation by. */
function judgedParts(model: Model): Map<string, string> {
  const { operations } = planOf(model) as { operations: PlannedOperation[] };
  return new Map(
    operations.map(({ id, body, responses }) => {
      // A request without a body is made of the examples of its parameters.
      const requests = Math.max(1, body?.examples.length ?? 0);
      const described = Object.keys(responses).length;
      return [id, `${count(requests, "request")}, ${count(described, "response")}`];
    }),
  );
}

/** What is read here of an operation in the plan. */
interface PlannedOperation {
  id: string;
  body?: { examples: unknown[] };
  responses: Record<string, unknown>;
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;

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
