import { expect, test } from "vitest";
import { parseModel } from "../model/read-model.js";
import { toolsOf } from "./tools-of.js";

const json = (schema: object) => ({ "application/json": { schema } });
const done = { 200: { description: "Done.", content: json({ type: "object" }) } };
const read = { right: "read", project: "body.project_id" };
const body = (properties: object) => ({
  requestBody: { required: true, content: json({ type: "object", required: ["project_id"], properties }) },
});
const projectId = { project_id: { type: "string" } };

/** The tools of a document with these operations, by path. */
function tools(operations: Record<string, object>, schemas: object = {}) {
  const paths = Object.entries(operations).map(([path, item], index) => [
    path,
    Object.fromEntries(
      Object.entries(item as Record<string, object>).map(([method, operation]) => [
        method,
        { operationId: `act${index}`, tags: ["Things"], summary: "Act", responses: done, ...operation },
      ]),
    ),
  ]);
  const model = parseModel(
    {
      openapi: "3.1.0",
      info: { title: "One", version: "1" },
      "x-heddle-interface": "tracing",
      tags: [{ name: "Things" }],
      security: [{ key: [] }],
      paths: Object.fromEntries(paths),
      components: { schemas, securitySchemes: { key: { type: "http", scheme: "basic" } } },
    },
    "tracing.json",
  );
  return toolsOf([model]);
}

test("what reads is a tool; what writes, deletes or hands out a secret is none", () => {
  const access = { "x-heddle-access": read };
  const found = tools({
    "/read": { post: { ...access, ...body(projectId) } },
    "/write": { post: { "x-heddle-access": { ...read, right: "write" }, ...body(projectId) } },
    "/secret": { post: { ...access, ...body(projectId), "x-heddle-secret": true } },
    "/end": { delete: { "x-heddle-access": { right: "read", project: "none" } } },
    "/health": { get: { security: [] } },
    "/log-in": { post: { security: [] } },
  });
  expect(found.map(({ name }) => name)).toEqual(["act0", "act4"]);
});

test("arguments are parameters and members of the body, with what they refer to", () => {
  const schemas = {
    Query: {
      type: "object",
      description: "A condition.\n\nFields.\n\n| What | Costs |\n|---|---|\n",
      properties: { all: { type: "array", items: { $ref: "#/components/schemas/Query" } } },
    },
  };
  const parameters = [
    { in: "path", name: "id", required: true, description: "Which one.", schema: { type: "string" }, example: "a" },
  ];
  const query = { $ref: "#/components/schemas/Query" };
  const free = { type: "object", "x-heddle-raw-json": true, properties: { any: { type: "string" } } };
  const operation = { "x-heddle-access": read, parameters, ...body({ ...projectId, query, free }) };
  const [tool] = tools({ "/things/{id}": { post: operation } }, schemas);
  expect(tool).toMatchObject({
    name: "act0",
    interface: "tracing",
    group: "Things",
    title: "Act",
    inputSchema: {
      type: "object",
      additionalProperties: false,
      required: ["id", "project_id"],
      properties: {
        id: { type: "string", description: "Which one." },
        query: { $ref: "#/$defs/Query" },
        free: { type: "object" },
      },
      $defs: {
        Query: {
          description: "A condition.\n\nFields.",
          properties: { all: { items: { $ref: "#/$defs/Query" } } },
        },
      },
    },
  });
  expect(JSON.stringify(tool)).not.toMatch(/x-heddle|components|"any"/);
});

test("a member that hosts of agents refuse is an error of the spec", () => {
  const operation = { "x-heddle-access": read, ...body({ ...projectId, a$b: { type: "string" } }) };
  expect(() => tools({ "/read": { post: operation } })).toThrow('"a$b" cannot be the name of an argument of a tool');
});
