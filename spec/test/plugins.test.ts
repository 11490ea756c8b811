import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runRedocly } from "@heddle/tools/redocly";
import { expect, onTestFinished, test } from "vitest";

const plugin = fileURLToPath(new URL("../plugins/heddle.js", import.meta.url));
const preprocessors =
  "oas3_1Preprocessors: { heddle/shared-headers: on, heddle/shared-responses: on, heddle/named-examples: on }";

const files = {
  "redocly.yaml": `telemetry: "off"\nplugins: ["${plugin}"]\n${preprocessors}\napis: { library: { root: library/openapi.yaml } }`,
  "library/openapi.yaml": `
    openapi: 3.1.0
    info: { title: Library, version: 1.0.0 }
    security: [{ key: [] }]
    x-heddle-response-headers: { X-Id: { $ref: "headers.yaml#/Id" } }
    x-heddle-responses:
      always: { "400": { $ref: "responses.yaml#/BadRequest" } }
      withKey: { "401": { $ref: "responses.yaml#/Unauthorized" } }
      withBody: { "413": { $ref: "responses.yaml#/TooLarge" } }
      withNonJsonBody: { "415": { $ref: "responses.yaml#/OtherMedia" } }
      withInput: { "422": { $ref: "responses.yaml#/Unprocessable" } }
    paths:
      /books: { $ref: "paths/books.yaml#/books" }
      /covers: { $ref: "paths/books.yaml#/covers" }
    components: { securitySchemes: { key: { type: http, scheme: bearer } } }`,
  "library/headers.yaml": 'Id: { description: "Id.", schema: { type: string } }',
  "library/responses.yaml": ["BadRequest", "Unauthorized", "TooLarge", "OtherMedia", "Unprocessable"]
    .map((name) => `${name}: { description: "${name}." }\n`)
    .join(""),
  "library/paths/books.yaml": `
    books:
      get:
        operationId: readCatalog
        security: []
        responses:
          "200": { description: Books., content: { application/jsonl: { schema: { type: string } } } }
      put:
        operationId: replaceBooks
        requestBody:
          content:
            application/json:
              schema: { type: string }
              examples: { replaceBooksNoneRequest: { $ref: "../../examples/books.yaml#/replaceBooksNoneRequest" } }
        responses:
          "200": { description: Replaced., content: { application/json: { schema: { type: string } } } }
          "400": { description: Own words. }
          "404": { description: No such shelf. }
    covers:
      post:
        operationId: addCover
        x-heddle-raw-body: true
        requestBody: { content: { image/png: { schema: {} } } }
        responses: { "200": { description: Added. } }`,
  "examples/books.yaml": [
    "readCatalogResponse",
    "replaceBooksRequest",
    "replaceBooksNoneRequest",
    "replaceBooksResponse",
    "addCoverRequest",
  ]
    .map((name) => `${name}: { value: "${name}" }\n`)
    .join(""),
};

interface Media {
  examples: object;
}
interface Response {
  $ref?: string;
  description?: string;
  headers?: object;
  content?: Record<string, Media>;
}
interface Operation {
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response>;
}

test("operations get the shared responses and headers and the examples of their name, and keep what they state", async () => {
  const { code, output, directory } = await bundle(files);
  expect(code, output).toBe(0);
  const { paths, ...root } = JSON.parse(readFileSync(join(directory, "library.json"), "utf8")) as {
    paths: Record<string, Record<string, Operation>>;
    components: { responses: Record<string, Response> };
  };
  const headers = { "X-Id": { $ref: "#/components/headers/Id" } };
  const { get: readCatalog, put: replaceBooks } = paths["/books"]!;
  expect(Object.keys(readCatalog!.responses)).toEqual(["200", "400"]);
  expect(Object.keys(replaceBooks!.responses)).toEqual(["200", "400", "401", "404", "413", "422"]);
  expect(Object.keys(paths["/covers"]!.post!.responses)).toEqual(["200", "400", "401", "413", "415"]);
  expect(replaceBooks!.responses["400"]).toEqual({ description: "Own words.", headers });
  expect(replaceBooks!.responses["401"]).toEqual({ $ref: "#/components/responses/Unauthorized" });
  expect(root).not.toHaveProperty("x-heddle-responses");

  expect(Object.values(root.components.responses).map((response) => response.headers)).toEqual(
    Array.from({ length: 5 }, () => headers),
  );
  expect(readCatalog!.responses["200"]!.headers).toEqual(headers);
  expect(root).not.toHaveProperty("x-heddle-response-headers");

  expect(Object.keys(readCatalog!.responses["200"]!.content!["application/jsonl"]!.examples)).toEqual([
    "readCatalogResponse",
  ]);
  expect(Object.keys(replaceBooks!.requestBody!.content["application/json"]!.examples)).toEqual([
    "replaceBooksRequest",
    "replaceBooksNoneRequest",
  ]);
});

test("restated and unknown names are errors", async () => {
  const openapi = files["library/openapi.yaml"].replace("withBody:", "withBodies:");
  const books = files["library/paths/books.yaml"]
    .replace('"404": { description: No such shelf. }', '"401": { $ref: "../responses.yaml#/Unauthorized" }')
    .replace("description: Added.", 'description: Added., headers: { X-Id: { $ref: "../headers.yaml#/Id" } }')
    .replaceAll("replaceBooksNoneRequest", "replaceBooksRequest");
  const examples = files["examples/books.yaml"].replace("addCoverRequest", "addCover");
  const { code, output } = await bundle({
    ...files,
    "library/openapi.yaml": openapi,
    "library/paths/books.yaml": books,
    "examples/books.yaml": examples,
  });
  expect(code).toBe(1);
  for (const message of [
    'Unknown group "withBodies"; the groups are always, withKey, withBody, withNonJsonBody, withInput.',
    'Leave out this response: 401 is added to every operation of the group "withKey".',
    "Leave out this example: replaceBooksRequest is added by its name.",
    "Leave out this header: X-Id is added to every response.",
    "#/covers/post/requestBody/content/image~1png/examples/addCoverRequest",
  ]) {
    expect(output).toContain(message);
  }
});

/** Bundles a folder of these files into its `library.json`. */
async function bundle(texts: typeof files) {
  const directory = mkdtempSync(join(tmpdir(), "heddle-plugin-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  const { code, stdout, stderr } = await runRedocly(["bundle", "library", "--output", "library.json"], directory);
  return { code, output: stdout + stderr, directory };
}
