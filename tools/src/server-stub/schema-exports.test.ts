import { expect, test } from "vitest";
import { parseModel } from "../model/read-model.js";
import { schemaExports } from "./schema-exports.js";

function exportsOf(schemas: Record<string, object>): string[] {
  const content = (name: string) => ({ "application/json": { schema: { $ref: `#/components/schemas/${name}` } } });
  const [request, response, shared] = Object.keys(schemas);
  const both = { type: "object", properties: { shared: { $ref: `#/components/schemas/${shared}` } } };
  const post = {
    operationId: "act",
    tags: ["Things"],
    requestBody: { required: true, content: content(request!) },
    responses: { 200: { description: "Done.", content: content(response!) } },
  };
  const document = {
    openapi: "3.1.0",
    info: { title: "One", version: "1" },
    "x-heddle-interface": "training",
    tags: [{ name: "Things" }],
    security: [],
    paths: { "/things": { post } },
    components: { schemas: { ...schemas, [request!]: both, [response!]: both } },
  };
  return schemaExports(parseModel(document, "one.json"));
}

test("a schema of both directions is exported in the form of requests", () => {
  expect(exportsOf({ Ask: {}, Reply: {}, Shared: { type: "string" } })).toEqual([
    'export type { Ask, Shared } from "./one.requests.js";',
    'export type { Reply } from "./one.responses.js";',
  ]);
});

test("a schema named like a type of the stub is refused with its pointer", () => {
  expect(() => exportsOf({ ActRequest: {}, Reply: {}, Shared: { type: "string" } })).toThrow(
    "#/components/schemas/ActRequest: the server stub has a type of this name; rename one",
  );
});
