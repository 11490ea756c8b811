import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findingLines } from "./finding.js";
import { generateContract } from "./generate-contract.js";
import { lintContract } from "./lint-contract.js";
import { sourceLocation } from "./source-location.js";

const spec = join(import.meta.dirname, "../../../spec");

const root = (name: string) => `openapi: 3.1.0
info: { title: T, version: 0.1.0, license: { name: Apache-2.0, identifier: Apache-2.0 } }
x-heddle-interface: ${name}
x-heddle-responses: { always: { "400": { $ref: ./responses.yaml#/Invalid } } }
servers: [{ url: http://127.0.0.1:4680 }]
security: []
tags: [{ name: Things, description: All things. }]
paths:
  /thing/${name}: { $ref: ./paths/things.yaml#/${name}Thing }
`;
const things = (name: string) => `${name}Thing:
  post:
    operationId: ${name}Thing
    tags: [Things]
    summary: Make
    description: Makes a thing.
    requestBody:
      content:
        application/json:
          schema:
            $ref: ../schemas/thing.yaml#/Thing
    responses:
      "200":
        description: Made.
        content:
          application/json:
            schema:
              $ref: ../schemas/thing.yaml#/Thing
`;
const thing = `Thing:
  type: object
  required: [id]
  properties:
    id:
      type: string
      description: Its name.
`;
const invalid = "Invalid: { description: Wrong. }\n";

/** A small contract with the rules of the real one. `edits` replaces text of its files. */
function contract(edits: Record<string, [from: string, to: string]> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), "heddle-contract-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const files: Record<string, string> = { "examples/things.yaml": "", "stories/none.txt": "" };
  for (const name of ["tracing", "training"]) {
    files[`${name}/openapi.yaml`] = root(name);
    files[`${name}/paths/things.yaml`] = things(name);
    files[`${name}/schemas/thing.yaml`] = thing;
    files[`${name}/responses.yaml`] = invalid;
    for (const body of ["Request", "Response"])
      files["examples/things.yaml"] += `${name}Thing${body}:\n  value:\n    id: "1"\n`;
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, path, ".."), { recursive: true });
    const [from, to] = edits[path] ?? ["", ""];
    expect(text).toContain(from);
    writeFileSync(join(directory, path), text.replace(from, to));
  }
  for (const name of ["redocly.yaml", "plugins"]) cpSync(join(spec, name), join(directory, name), { recursive: true });
  return directory;
}

test("a sound contract has no finding and is generated", async () => {
  const directory = contract();
  expect(await lintContract(directory)).toEqual([]);
  expect(await generateContract(directory)).toEqual([]);
  expect(readFileSync(join(directory, "dist/tracing.d.ts"), "utf8")).toContain("tracingThing");
}, 60_000);

test("each mistake is one line with file, line and what to do", async () => {
  const directory = contract({
    "examples/things.yaml": ['id: "1"', "id: 1"],
    "tracing/paths/things.yaml": ["    summary: Make\n", ""],
    "training/paths/things.yaml": ["thing.yaml#/Thing", "thing.yaml#/Thng"],
  });
  expect(findingLines(await lintContract(directory))).toEqual([
    "spec/examples/things.yaml:3: the example contradicts its schema: `id` property type must be string. Correct the example, or the schema of spec/tracing/paths/things.yaml.",
    "spec/tracing/paths/things.yaml:2: Operation object should contain `summary` field.",
    "spec/training/paths/things.yaml:11: nothing is at ../schemas/thing.yaml#/Thng: correct the file or the name.",
  ]);
}, 60_000);

test.each<[string, Record<string, [string, string]>, string]>([
  [
    "a name without an example",
    { "tracing/paths/things.yaml": ["operationId: tracingThing", "operationId: makeThing"] },
    "spec/tracing/paths/things.yaml:10: spec/examples/things.yaml has no makeThingRequest: add it, or correct the operationId.",
  ],
  [
    "YAML that cannot be read",
    { "tracing/openapi.yaml": ["security: []", "security: ["] },
    "spec/tracing/openapi.yaml:7: correct the YAML: ",
  ],
  [
    "a type that JSON does not have",
    { "training/schemas/thing.yaml": ["type: string", "type: strung"] },
    'spec/training/schemas/thing.yaml:6: "strung" is not a type of JSON',
  ],
  [
    "an extension that does not exist",
    { "tracing/paths/things.yaml": ["    summary", "    x-heddle-extention: true\n    summary"] },
    "spec/tracing/paths/things.yaml:5: unknown extension;",
  ],
])(
  "generate reports %s at its line in the hand-written file",
  async (_, edits, line) => {
    expect(findingLines(await generateContract(contract(edits))).join("\n")).toContain(line);
  },
  60_000,
);

describe("a pointer into the bundled document leads to the line it was written in", () => {
  test.each([
    ["tracing", "#/paths/~1call~1start/post/x-heddle-access", "tracing/paths/calls.yaml", "x-heddle-access"],
    ["tracing", "#/components/schemas/CallSchema/properties/op_name/type", "tracing/schemas/call.yaml", "type:"],
    [
      "training",
      "#/paths/~1v1~1preview~1models/post/requestBody/content",
      "training/paths/models.yaml",
      "application/json",
    ],
    ["tracing", "#/info/title", "tracing/openapi.yaml", "title:"],
    // Added by the plugin: in no file, so the part around it.
    ["tracing", "#/paths/~1call~1start/post/responses/429/description", "tracing/paths/calls.yaml", '"200"'],
  ])("%s %s", (name, pointer, file, text) => {
    const found = sourceLocation(spec, name, pointer);
    expect(found.file).toBe(file);
    expect(readFileSync(join(spec, file), "utf8").split("\n")[found.line - 1]).toContain(text);
  });
});
