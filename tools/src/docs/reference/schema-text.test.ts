import { expect, test } from "vitest";
import type { OpenApi, Schema } from "../../model/openapi.js";
import { schemaText } from "./schema-text.js";
import { typeText } from "./type-text.js";

const document = {
  components: {
    schemas: {
      Name: { type: "string", minLength: 1, maxLength: 8 },
      Node: {
        type: "object",
        properties: { children: { type: "array", items: { $ref: "#/components/schemas/Node" } } },
      },
      Cat: { type: "object", properties: { kind: { const: "cat" } } },
      Dog: { type: "object", properties: { kind: { const: "dog" } } },
    },
  },
} as unknown as OpenApi;
const link = (name: string) => `#${name.toLowerCase()}`;
const type = (schema: Schema) => typeText(document, schema, link);

test("a type says what it is, its limits and its default", () => {
  expect(type({ type: "string", minLength: 1, maxLength: 128, pattern: "^a|b$" })).toBe(
    "string, 1 to 128 characters, pattern `^a|b$`",
  );
  expect(type({ type: ["integer", "null"], minimum: 0, default: 10 })).toBe("integer or null, ≥ 0, default `10`");
  expect(type({ type: "number", minimum: 0, exclusiveMaximum: 1 })).toBe("number, ≥ 0, < 1");
  expect(type({ type: "array", items: { type: "string", maxLength: 1 }, maxItems: 20 })).toBe(
    "array of (string, at most 1 character), at most 20 items",
  );
  expect(type({ type: "array", items: {}, "x-heddle-max-items": 1000 })).toBe("array of any JSON, at most 1000 items");
  expect(type({ type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] })).toBe(
    "array of exactly (string; integer)",
  );
  expect(type({ type: "object", additionalProperties: { type: "integer" } })).toBe("object with values of integer");
  expect(type({ enum: ["a", "b"] })).toBe('one of `"a"`, `"b"`');
  expect(type({ const: "auto" })).toBe('`"auto"`');
  expect(type({ oneOf: [{ type: "integer", minimum: 1 }, { const: "auto" }] })).toBe('integer, ≥ 1 or `"auto"`');
  expect(type({ "x-heddle-raw-json": true })).toBe("free JSON");
});

test("a component is a link, with its type where that is short", () => {
  expect(type({ $ref: "#/components/schemas/Name" })).toBe("[Name](#name): string, 1 to 8 characters");
  expect(type({ anyOf: [{ $ref: "#/components/schemas/Cat" }, { type: "null" }] })).toBe("[Cat](#cat) or null");
});

test("a schema that holds itself links to itself", () => {
  expect(schemaText(document, { $ref: "#/components/schemas/Node" }, link)).toContain(
    "| `children` | array of [Node](#node) |",
  );
});

test("objects without a name are described in place, in lists and alternatives too", () => {
  const inner: Schema = {
    type: "object",
    required: ["id"],
    properties: { id: { type: "string", description: "Id." } },
  };
  const text = schemaText(
    document,
    {
      type: "object",
      additionalProperties: false,
      properties: { items: { type: "array", items: inner }, one: { anyOf: [inner, { type: "null" }] } },
    },
    link,
  );
  expect(text).toContain("| `items[].id` *required* | string | Id. |");
  expect(text).toContain("| `one.id` *required* | string | Id. |");
  expect(text).toContain("Other keys are refused.");
});

test("alternatives are listed, by the value of the discriminator where there is one", () => {
  const oneOf = [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }];
  expect(schemaText(document, { oneOf }, link)).toBe("One of:\n\n- [Cat](#cat)\n- [Dog](#dog)");
  const mapping = { cat: "#/components/schemas/Cat", dog: "#/components/schemas/Dog" };
  const text = schemaText(document, { oneOf, discriminator: { propertyName: "kind", mapping } }, link);
  expect(text).toContain("as `kind` says");
  expect(text).toContain('| `"dog"` | [Dog](#dog) |');
});
