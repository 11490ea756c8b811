import { expect, test } from "vitest";
import { clientFiles } from "./generate-client.js";
import { parseModel } from "../model/read-model.js";

/** A document of one operation. */
function emit(path: string, method: string, operation: object, schemas: object = {}): string {
  const responses = { 200: { description: "Done.", content: json({ type: "object", properties: {} }) } };
  const model = parseModel(
    {
      openapi: "3.1.0",
      info: { title: "One", version: "1" },
      "x-heddle-interface": "training",
      tags: [{ name: "Things" }],
      security: [],
      paths: { [path]: { [method]: { operationId: "act", tags: ["Things"], responses, ...operation } } },
      components: { schemas },
    },
    "training.json",
  );
  return clientFiles(model)["training.ts"]!;
}

function json(schema: object) {
  return { "application/json": { schema } };
}

function parameter(location: string, name: string, required = false) {
  return { in: location, name, required, schema: { type: "string" } };
}

test("a list with a cursor is read page by page", () => {
  const page = {
    type: "object",
    properties: { data: { type: "array", items: { type: "object" } }, has_more: { type: "boolean" } },
  };
  const text = emit(
    "/jobs/{job}/events",
    "get",
    {
      parameters: [parameter("path", "job", true), parameter("query", "after")],
      responses: { 200: { description: "A page.", content: json({ $ref: "#/components/schemas/Page" }) } },
    },
    { Page: page },
  );
  expect(text).toContain('export type ActItem = Page["data"][number];');
  expect(text).toContain(
    'return readPages((input) => readJson(connection, withQuery("act", "GET /jobs/{job}/events", input), options), input);',
  );
  expect(text).toContain('import { readPages } from "../pages.js";');
});

test("a list without a cursor is one response", () => {
  const page = { type: "object", properties: { data: { type: "array", items: {} }, has_more: { type: "boolean" } } };
  const text = emit("/jobs", "get", { responses: { 200: { description: "All.", content: json(page) } } });
  expect(text).not.toContain("readPages");
});

test("query and headers of an operation with a body are named, the client's own headers are not asked for", () => {
  const text = emit("/things/{id}", "put", {
    parameters: [
      parameter("path", "id", true),
      parameter("query", "dry_run"),
      parameter("header", "project_id"),
      parameter("header", "Accept"),
      parameter("header", "X-Weave-Retry-Id"),
    ],
    requestBody: { required: true, content: json({ type: "object", properties: { name: { type: "string" } } }) },
  });
  expect(text).toContain('withJson("act", "PUT /things/{id}", input, { query: ["dry_run"], headers: ["project_id"] })');
  expect(text).toContain('Pick<NonNullable<operations["act"]["parameters"]["header"]>, "project_id">');
});

test("an operation whose inputs may all be left out may be called without any", () => {
  const text = emit("/things", "get", { parameters: [parameter("query", "name")] });
  expect(text).toContain("input?: ActInput, options?: RequestOptions");
});

test("a name at two locations of one request is refused with its pointer", () => {
  const body = { required: true, content: json({ $ref: "#/components/schemas/Thing" }) };
  const schemas = { Thing: { allOf: [{ type: "object", properties: { id: { type: "string" } } }] } };
  const act = () =>
    emit("/things/{id}", "put", { parameters: [parameter("path", "id", true)], requestBody: body }, schemas);
  expect(act).toThrow('#/paths/~1things~1{id}/put/parameters/0: "id" is at two locations of one request; rename one');
});

test("error responses have their types by status", () => {
  const schemas = { Refusal: { type: "object", properties: { reason: { type: "string" } } } };
  const responses = {
    200: { description: "Done.", content: json({ type: "object", properties: {} }) },
    404: { description: "Unknown.", content: json({ $ref: "#/components/schemas/Refusal" }) },
    409: { description: "Taken.", content: json({ type: "string" }) },
    502: { description: "Without a body." },
  };
  expect(emit("/things", "get", { responses }, schemas)).toContain(
    '    readonly act: { 404: Refusal; 409: operations["act"]["responses"][409]["content"]["application/json"] };',
  );
});

test("a schema named like a type of the client is refused with its pointer", () => {
  const schemas = { ActInput: { type: "object" } };
  expect(() => emit("/things", "get", { parameters: [parameter("query", "name")] }, schemas)).toThrow(
    "#/components/schemas/ActInput: the client has a type of this name; rename one",
  );
});

test("text of the spec cannot end the comment that it is in", () => {
  const text = emit("/things", "get", { summary: "Match a/*/b" });
  expect(text).toContain(" * Match a/*\\/b");
});
