import { describe, expect, test } from "vitest";
import { goldenModel } from "../../test/golden-trees.js";
import { parseModel } from "./read-model.js";
import { stubOf } from "../server-stub/operations.js";

describe("a document is read into operations", () => {
  const model = goldenModel();

  test("grouped by tag in the order of the tags", () => {
    expect(
      model.groups.map(({ key, typeName, operations }) => [key, typeName, operations.map(({ id }) => id)]),
    ).toEqual([
      [
        "books",
        "Books",
        ["bookCreate", "booksAdd", "booksStream", "bookAsk", "bookRead", "bookDelete", "coverCreate", "coverRead"],
      ],
      ["readingLists", "ReadingLists", ["listsImport"]],
      ["service", "Service", ["readHealth"]],
    ]);
  });

  test("with its marks, limits and streams", () => {
    const marks = model.operations.map(
      ({ id, stream, streamOptional, extension, deprecated, maxBodyBytes, ...rest }) => ({
        id,
        ...(stream && { stream, streamOptional }),
        ...(extension && { extension, aliases: rest.aliases }),
        ...(deprecated && { deprecated }),
        ...(rest.public && { public: true }),
        ...(rest.destructive && { destructive: true }),
        ...(typeof rest.access?.project === "object" && { access: rest.access }),
        ...(maxBodyBytes !== 1_048_576 && { maxBodyBytes }),
      }),
    );
    expect(marks).toEqual([
      { id: "bookCreate" },
      { id: "booksAdd", extension: true, aliases: ["/books/batch"] },
      { id: "booksStream", stream: "jsonl", streamOptional: false },
      {
        id: "bookAsk",
        stream: "sse",
        streamOptional: true,
        access: { right: "read", project: { in: "body", at: ["question"] } },
      },
      { id: "bookRead" },
      { id: "bookDelete", deprecated: true, destructive: true },
      { id: "coverCreate", access: { right: "write", project: { in: "body", at: ["book_id"] } } },
      { id: "coverRead" },
      { id: "listsImport", maxBodyBytes: 1024 },
      { id: "readHealth", public: true },
    ]);
  });
});

/** A valid document, to be made invalid at one location. */
function validDocument() {
  return {
    openapi: "3.1.0",
    info: { title: "Valid", version: "1" },
    "x-heddle-interface": "tracing",
    security: [{ basicAuth: [] }],
    tags: [{ name: "Things" }],
    paths: { "/things": { post: operation("thingCreate") } } as Record<string, Record<string, unknown>>,
    components: {
      securitySchemes: { basicAuth: { type: "http", scheme: "basic" } },
      schemas: { Thing: { type: "object", properties: {} } },
    } as { securitySchemes: Record<string, unknown>; schemas: Record<string, object> },
  };
}

function operation(operationId: string, more: object = {}) {
  return {
    operationId,
    tags: ["Things"],
    "x-heddle-access": { right: "write", project: "none" },
    summary: "Make a thing",
    requestBody: json({ $ref: "#/components/schemas/Thing" }),
    responses: { "200": { description: "Made.", ...json({ type: "object" }) } },
    ...more,
  };
}

function json(schema: object, mediaType = "application/json") {
  return { content: { [mediaType]: { schema } } };
}

type ValidDocument = ReturnType<typeof validDocument>;

function withOperation(more: object, path = "/things", method = "post"): (document: ValidDocument) => void {
  return (document) => {
    document.paths = { [path]: { [method]: operation("thingCreate", more) } };
  };
}

function withSchema(schema: object): (document: ValidDocument) => void {
  return (document) => {
    document.components.schemas["Thing"] = schema;
  };
}

const refused: [what: string, change: (document: ValidDocument) => void, message: string][] = [
  ["OpenAPI 3.0", (d) => (d.openapi = "3.0.3"), "#/openapi: the document has to be OpenAPI 3.1"],
  [
    "an unknown interface",
    (d) => (d["x-heddle-interface"] = "other"),
    '#/x-heddle-interface: x-heddle-interface has to be "tracing" or "training"',
  ],
  ["webhooks", (d) => Object.assign(d, { webhooks: {} }), '#/webhooks: "webhooks" is not supported in the document'],
  [
    "a misspelt extension",
    withOperation({ "x-heddle-alias": [] }),
    "#/paths/~1things/post/x-heddle-alias: unknown extension; an operation may carry x-heddle-access, x-heddle-aliases, x-heddle-destructive, x-heddle-error-object, x-heddle-extension, x-heddle-needs-provider, x-heddle-raw-body, x-heddle-secret, x-heddle-share, x-heddle-streamed-body, x-heddle-max-body-bytes",
  ],
  [
    "an operation without its access",
    withOperation({ "x-heddle-access": undefined }),
    "#/paths/~1things/post: x-heddle-access is missing: state which right the operation needs in which project",
  ],
  [
    "a public operation that needs a right",
    withOperation({ security: [] }),
    "#/paths/~1things/post/x-heddle-access: a public operation needs no access",
  ],
  [
    "an unknown right",
    withOperation({ "x-heddle-access": { right: "own", project: "none" } }),
    "#/paths/~1things/post/x-heddle-access/right: a right is one of read, write, admin",
  ],
  [
    "a project in a property that may be missing",
    withOperation({ "x-heddle-access": { right: "read", project: "body.project_id" } }),
    '#/paths/~1things/post/x-heddle-access/project: "project_id" is not a required property',
  ],
  [
    "a project in a path without one",
    withOperation({ "x-heddle-access": { right: "read", project: "path" } }),
    "#/paths/~1things/post/x-heddle-access/project: the path does not contain {entity} and {project}",
  ],
  [
    "a project in a parameter that is not declared",
    withOperation({ "x-heddle-access": { right: "read", project: "query.project_id" } }),
    '#/paths/~1things/post/x-heddle-access/project: "project_id" is not a required parameter of the query',
  ],
  [
    "a project at no location",
    withOperation({ "x-heddle-access": { right: "read", project: "cookie" } }),
    "#/paths/~1things/post/x-heddle-access/project: the project is at body, body.…, query.…, header.…, path, or it is record, items, several or none",
  ],
  [
    "a credential of another kind",
    (d) => (d.components.securitySchemes["basicAuth"] = { type: "oauth2" }),
    "#/components/securitySchemes/basicAuth: credentials are http basic, http bearer, the header wandb-api-key or the halves of a session",
  ],
  [
    "optional authentication",
    withOperation({ security: [{}] }),
    "#/paths/~1things/post/security: optional authentication is not supported: use [] or named schemes",
  ],
  [
    "callbacks",
    withOperation({ callbacks: {} }),
    '#/paths/~1things/post/callbacks: "callbacks" is not supported in an operation',
  ],
  [
    "a trace operation",
    (d) => (d.paths["/things"] = { trace: {} }),
    '#/paths/~1things/trace: "trace" is not supported on a path',
  ],
  [
    "no operationId",
    withOperation({ operationId: undefined }),
    "#/paths/~1things/post: an operation needs an operationId",
  ],
  [
    "an operationId in another style",
    withOperation({ operationId: "thing_create" }),
    '#/paths/~1things/post/operationId: "thing_create" is not a camelCase verb phrase',
  ],
  [
    "two tags",
    withOperation({ tags: ["Things", "More"] }),
    "#/paths/~1things/post: an operation has exactly one tag: its group",
  ],
  [
    "an undeclared tag",
    withOperation({ tags: ["Others"] }),
    '#/paths/~1things/post/tags/0: tag "Others" is not declared in the document',
  ],
  [
    "one operationId twice",
    (d) => (d.paths["/more"] = { post: operation("thingCreate") }),
    '#/paths/~1more/post/operationId: "thingCreate" is at #/paths/~1things/post too',
  ],
  [
    "an alias that is another operation's path",
    (d) => (d.paths["/more"] = { post: operation("moreCreate", { "x-heddle-aliases": ["/things"] }) }),
    "#/paths/~1more/post: post /things cannot be distinguished from #/paths/~1things/post",
  ],
  [
    "an alias without the path's parameters",
    withOperation(
      {
        "x-heddle-aliases": ["/other"],
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      },
      "/things/{id}",
    ),
    '#/paths/~1things~1{id}/post/x-heddle-aliases/0: an alias has the same parameters as "/things/{id}"',
  ],
  [
    "half a segment as parameter",
    withOperation({}, "/things/{id}.json"),
    '#/paths/~1things~1{id}.json: "{id}.json": a parameter is a whole segment of the path',
  ],
  [
    "a parameter of the path that is not declared",
    withOperation({}, "/things/{id}"),
    "#/paths/~1things~1{id}/post: the path names {id}, which is not declared as a path parameter",
  ],
  [
    "a parameter that the path does not contain",
    withOperation({ parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }] }),
    "#/paths/~1things/post/parameters/0: the path does not contain {id}",
  ],
  [
    "a cookie",
    withOperation({ parameters: [{ name: "id", in: "cookie", schema: { type: "string" } }] }),
    '#/paths/~1things/post/parameters/0/in: parameters in "cookie" are not supported',
  ],
  [
    "an object as parameter",
    withOperation({ parameters: [{ name: "id", in: "query", schema: { type: "object" } }] }),
    "#/paths/~1things/post/parameters/0/schema: a parameter is one of string, integer, number, boolean, or a list of one of them",
  ],
  [
    "a list in one text",
    withOperation({
      parameters: [{ name: "id", in: "query", explode: false, schema: { type: "array", items: { type: "string" } } }],
    }),
    "#/paths/~1things/post/parameters/0: a list is supported in the query only, with its key repeated",
  ],
  [
    "another style of parameter",
    withOperation({ parameters: [{ name: "id", in: "query", style: "deepObject", schema: { type: "string" } }] }),
    '#/paths/~1things/post/parameters/0/style: only the style "form" is supported here',
  ],
  [
    "a GET with a body",
    withOperation({}, "/things", "get"),
    "#/paths/~1things/get/requestBody: a GET request has no body",
  ],
  [
    "a body that is neither JSON nor multipart",
    withOperation({ requestBody: json({ type: "string" }, "text/plain") }),
    "#/paths/~1things/post/requestBody/content/text~1plain: only JSON and multipart bodies are read; mark others x-heddle-raw-body",
  ],
  [
    "two media types of one body",
    withOperation({ requestBody: { content: { ...json({}).content, ...json({}, "multipart/form-data").content } } }),
    "#/paths/~1things/post/requestBody/content: one media type per request body; mark others x-heddle-raw-body",
  ],
  [
    "a raw body that is not there",
    withOperation({ requestBody: undefined, "x-heddle-raw-body": true }),
    "#/paths/~1things/post: x-heddle-raw-body without a requestBody",
  ],
  [
    "a streamed body that is not there",
    withOperation({ requestBody: undefined, "x-heddle-streamed-body": true }),
    "#/paths/~1things/post: x-heddle-streamed-body without a requestBody",
  ],
  [
    "a streamed form",
    withOperation({ requestBody: json({}, "multipart/form-data"), "x-heddle-streamed-body": true }),
    "#/paths/~1things/post/requestBody/content: a form cannot be x-heddle-streamed-body",
  ],
  [
    "no success",
    withOperation({ responses: { "404": { description: "No." } } }),
    "#/paths/~1things/post/responses: an operation needs a 2XX response",
  ],
  [
    "a range of responses",
    withOperation({ responses: { "2XX": { description: "Yes." } } }),
    "#/paths/~1things/post/responses/2XX: responses are named by their status; ranges are not supported",
  ],
  [
    "itemSchema",
    withOperation({ responses: { "200": { content: { "application/jsonl": { itemSchema: {} } } } } }),
    "#/paths/~1things/post/responses/200/content/application~1jsonl/itemSchema: let `schema` describe one item instead",
  ],
  [
    "a reference to another file",
    withOperation({ requestBody: { $ref: "bodies.yaml#/thing" } }),
    '#/paths/~1things/post/requestBody/$ref: "bodies.yaml#/thing" leaves the document; bundle it first',
  ],
  [
    "a reference to nothing",
    withOperation({ requestBody: { $ref: "#/components/requestBodies/Thing" } }),
    '#/paths/~1things/post/requestBody/$ref: there is nothing at "#/components/requestBodies/Thing"',
  ],
  [
    "nullable",
    withSchema({ type: "string", nullable: true }),
    '#/components/schemas/Thing/nullable: write `type: [..., "null"]` (OpenAPI 3.1)',
  ],
  [
    "a keyword that no generator reads",
    withSchema({ not: {} }),
    '#/components/schemas/Thing/not: "not" is not supported in a schema',
  ],
  ["an unknown type", withSchema({ type: "date" }), '#/components/schemas/Thing/type: "date" is not a type of JSON'],
  [
    "rules next to a reference",
    withSchema({ properties: { a: { $ref: "#/components/schemas/Thing", maxLength: 1 } } }),
    "#/components/schemas/Thing/properties/a: only annotations are allowed next to $ref; use allOf",
  ],
  [
    "free JSON with a default",
    withSchema({ properties: { a: { "x-heddle-raw-json": true, default: {} } } }),
    "#/components/schemas/Thing/properties/a/default: free JSON has no default",
  ],
  [
    "free JSON in the query",
    withOperation({ parameters: [{ name: "id", in: "query", schema: { type: "string", "x-heddle-raw-json": true } }] }),
    "#/paths/~1things/post/parameters/0/schema: free JSON is not allowed in a parameter",
  ],
  [
    "lenient items of something that is not a list",
    withSchema({ properties: { a: { type: "object", "x-heddle-lenient-items": true } } }),
    "#/components/schemas/Thing/properties/a: x-heddle-lenient-items needs an array with items",
  ],
  [
    "a lenient list of any length",
    withSchema({ properties: { a: { type: "array", items: {}, "x-heddle-lenient-items": true } } }),
    "#/components/schemas/Thing/properties/a: x-heddle-lenient-items needs x-heddle-max-items",
  ],
  [
    "a limit of something that is not a list",
    withSchema({ properties: { a: { type: "object", "x-heddle-max-items": 10 } } }),
    "#/components/schemas/Thing/properties/a/x-heddle-max-items: x-heddle-max-items needs an array of a JSON body, with items",
  ],
  [
    "a limit that the description does not state",
    withSchema({
      properties: {
        a: {
          type: "array",
          items: {},
          "x-heddle-max-items": 10,
          description: "At most 100 (more are rejected with 413).",
        },
      },
    }),
    "#/components/schemas/Thing/properties/a/x-heddle-max-items: the description has to state that more than 10 are rejected with 413",
  ],
  [
    "one of several limits that the description does not state",
    withSchema({
      description: "At most 10, each for 0.5.",
      "x-heddle-limits": { most: 10, prices: { each: 0.5, all: 5 } },
    }),
    "#/components/schemas/Thing/x-heddle-limits/prices/all: the description has to state the limit 5",
  ],
  [
    "bytes inside JSON",
    withSchema({ properties: { a: { type: "string", format: "binary" } } }),
    "#/components/schemas/Thing/properties/a/format: binary parts are allowed in multipart bodies only",
  ],
  [
    "a choice between free JSON and a shape",
    withSchema({ properties: { a: { anyOf: [{ "x-heddle-raw-json": true }, { type: "object", properties: {} }] } } }),
    "#/components/schemas/Thing/properties/a/anyOf/1: a choice between free JSON and something else cannot be read",
  ],
  [
    "a choice between anything and a shape",
    withSchema({ properties: { a: { anyOf: [{}, { type: "object", properties: {} }] } } }),
    "#/components/schemas/Thing/properties/a/anyOf/0: a choice between anything and a shape cannot be read",
  ],
];

describe("a document is refused, with the pointer and the reason, for", () => {
  test.each(refused)("%s", (_, change, message) => {
    const document = validDocument();
    change(document);
    expect(() => stubOf(parseModel(document, "valid.json"))).toThrow(expect.objectContaining({ message }));
  });

  test("nothing, when it is fine", () => {
    expect(parseModel(validDocument(), "valid.json").operations.map(({ id }) => id)).toEqual(["thingCreate"]);
  });
});
