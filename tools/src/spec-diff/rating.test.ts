import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rateDocument, requiredBump } from "./rating.js";
import type { Change } from "./rating.js";

// The rating is an experimental command of the Redocly CLI: each rating that `spec:diff` relies on is tested here.

interface Thing {
  [key: string]: unknown;
}

/** One operation with something of everything; `edit` makes the later version of it. */
type Case = [name: string, impact: Change["impact"], rule: string | undefined, edit: (item: Thing) => unknown];

const cases: Case[] = [
  ["an operation is removed", "major", "operation-removed", (item) => delete item.delete],
  ["a path is removed", "major", "path-removed", () => "remove"],
  [
    "an operation has another name",
    "major",
    "operation-id-changed",
    (item) => set(item, "post.operationId", "renamed"),
  ],
  [
    "a parameter became required",
    "major",
    "parameter-became-required",
    (item) => set(item, "post.parameters.0.required", true),
  ],
  ["a parameter is removed", "major", "parameter-removed", (item) => set(item, "post.parameters", [])],
  [
    "a body became required",
    "major",
    "request-body-became-required",
    (item) => set(item, "post.requestBody.required", true),
  ],
  [
    "a request needs one more property",
    "major",
    "required-properties-added",
    (item) => set(item, `${request}.required`, ["id", "name"]),
  ],
  [
    "a request property has another type",
    "major",
    "schema-type-changed",
    (item) => set(item, `${request}.properties.id.type`, "integer"),
  ],
  [
    "a limit is lower",
    "major",
    "schema-constraint-changed",
    (item) => set(item, `${request}.properties.limit.maximum`, 10),
  ],
  [
    "a request accepts one value less",
    "major",
    "enum-values-removed",
    (item) => set(item, `${request}.properties.mode.enum`, ["a"]),
  ],
  [
    "a response may hold one value more",
    "major",
    "enum-values-added",
    (item) => set(item, `${response}.properties.state.enum`, ["x", "y", "z"]),
  ],
  [
    "a response lacks a property",
    "major",
    "property-removed",
    (item) => set(item, `${response}.properties`, { id: text }),
  ],
  [
    "a response no longer promises a property",
    "major",
    "required-properties-removed",
    (item) => set(item, `${response}.required`, []),
  ],
  [
    "a media type is removed",
    "major",
    "media-type-removed",
    (item) => set(item, "post.responses.200.content", { "text/plain": { schema: text } }),
  ],
  ["a response is removed", "major", "response-removed", (item) => set(item, "post.responses.404", undefined)],
  [
    "an open operation needs a key",
    "major",
    "security-requirement-changed",
    (item) => set(item, "post.security", [{ basic: [] }]),
  ],
  [
    "there is one more operation",
    "minor",
    undefined,
    (item) => set(item, "put", { ...(item.delete as Thing), operationId: "more" }),
  ],
  [
    "a request takes one more optional property",
    "minor",
    undefined,
    (item) => set(item, `${request}.properties.extra`, text),
  ],
  ["a response has one more property", "minor", undefined, (item) => set(item, `${response}.properties.extra`, text)],
  ["the summary is another", "patch", undefined, (item) => set(item, "post.summary", "Another summary")],
];

const text = { type: "string" };
const request = "post.requestBody.content.application/json.schema";
const response = "post.responses.200.content.application/json.schema";
const work = mkdtempSync(join(tmpdir(), "heddle-rating-"));
let changes: Change[] = [];

beforeAll(async () => {
  const base: Thing = {};
  const revision: Thing = {};
  for (const [index, [, , , edit]] of cases.entries()) {
    base[`/case/${index}`] = item(index);
    const edited = item(index);
    if (edit(edited) !== "remove") revision[`/case/${index}`] = edited;
  }
  changes = await rateDocument(write("base.json", base), write("revision.json", revision), work);
}, 120_000);

afterAll(() => rmSync(work, { recursive: true }));

test.each(cases.map(([name, impact, rule], index) => ({ name, impact, rule, index })))(
  "$name: $impact",
  ({ impact, rule, index }) => {
    const own = changes.filter(
      ({ location }) => location.split(" › ")[0]!.replace(/^[A-Z]+ /, "") === `/case/${index}`,
    );
    expect(requiredBump(own)).toBe(impact);
    expect(own.map((change) => change.rule)).toContain(rule);
  },
);

test("the same document twice has no change", async () => {
  const path = write("same.json", { "/case": item(0) });
  expect(await rateDocument(path, path, work)).toEqual([]);
}, 120_000);

test("a location reads as the operation and the path inside it", () => {
  const index = cases.findIndex(([, , rule]) => rule === "schema-constraint-changed");
  expect(changes.find(({ rule }) => rule === "schema-constraint-changed")?.location).toBe(
    `POST /case/${index} › requestBody › limit`,
  );
});

function item(index: number): Thing {
  return structuredClone({
    post: {
      operationId: `act${index}`,
      summary: "Act",
      security: [],
      parameters: [{ name: "q", in: "query", schema: text }],
      requestBody: {
        content: json({
          type: "object",
          required: ["id"],
          properties: {
            id: text,
            name: text,
            limit: { type: "integer", maximum: 100 },
            mode: { ...text, enum: ["a", "b"] },
          },
        }),
      },
      responses: {
        200: {
          description: "Done.",
          content: json({
            type: "object",
            required: ["id"],
            properties: { id: text, state: { ...text, enum: ["x", "y"] } },
          }),
        },
        404: { description: "Missing." },
      },
    },
    delete: { operationId: `drop${index}`, security: [], responses: { 204: { description: "Gone." } } },
  });
}

function json(schema: Thing): Thing {
  return { "application/json": { schema } };
}

/** Sets what a dotted path leads to; `application/json` counts as one step. Undefined takes it away. */
function set(target: Thing, path: string, value: unknown): void {
  const steps = path.split(".");
  const last = steps.pop()!;
  const owner = steps.reduce((current, step) => current[step] as Thing, target);
  if (value === undefined) delete owner[last];
  else owner[last] = value;
}

function write(name: string, paths: Thing): string {
  const document = {
    openapi: "3.1.0",
    info: { title: "Cases", version: "1.0.0" },
    paths: structuredClone(paths),
    components: { securitySchemes: { basic: { type: "http", scheme: "basic" } } },
  };
  const path = join(work, name);
  writeFileSync(path, JSON.stringify(document));
  return path;
}
