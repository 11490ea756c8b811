import { expect, test } from "vitest";
import type { Schema } from "../model/openapi.js";
import { typesText } from "./generate-types.js";

async function typesOf(schemas: Record<string, Schema>): Promise<string> {
  const document = { openapi: "3.1.0", info: { title: "One", version: "1" }, paths: {}, components: { schemas } };
  return await typesText(document);
}

/** The comment of the property `field` of the schema `Thing`. */
async function commentOf(field: Schema, others: Record<string, Schema> = {}): Promise<string> {
  const text = await typesOf({ Thing: { type: "object", properties: { field } }, ...others });
  const [comment = ""] = /export type Thing = \{([^]*?)field\?:/.exec(text)?.slice(1) ?? [];
  return comment.replaceAll(/^ {4}/gm, "").trim();
}

test("the description is text that editors show, before tags", async () => {
  const description = "First line,\nsecond line.\n\n- a list\n- of two";
  expect(await commentOf({ type: "integer", description, deprecated: true, default: 3 })).toBe(
    [
      "/**",
      " * First line,",
      " * second line.",
      " *",
      " * - a list",
      " * - of two",
      " * @deprecated",
      " * @default 3",
      " */",
    ].join("\n"),
  );
});

test("what the type says already is not repeated", async () => {
  const field = { type: "string", description: "Which.", enum: ["a", "b"] };
  expect(await commentOf(field)).toBe("/** Which. */");
});

test.for<[string, Schema, string]>([
  ["characters", { type: "string", minLength: 1, maxLength: 128 }, "From 1 to 128 characters."],
  ["a number", { type: "integer", minimum: 0, maximum: 1000 }, "From 0 to 1000."],
  ["items", { type: "array", items: {}, maxItems: 3 }, "At most 3 items."],
  ["items that are counted by the service", { type: "array", items: {}, "x-heddle-max-items": 5 }, "At most 5 items."],
  ["an exact count", { type: "array", items: {}, minItems: 2, maxItems: 2 }, "Exactly 2 items."],
])("a limit that the description leaves out follows it: %s", async ([, schema, limit]) => {
  expect(await commentOf({ ...schema, description: "Which." })).toBe(`/**\n * Which.\n *\n * ${limit}\n */`);
});

test("a limit that the description states is not repeated", async () => {
  const field = { type: "string", maxLength: 65_536, description: "A pattern, at most 65,536 characters." };
  expect(await commentOf(field)).toBe("/** A pattern, at most 65,536 characters. */");
});

test("a property without a description has that of its type", async () => {
  const others = { Name: { type: "string", description: "A name.", maxLength: 8 } };
  const ref = "#/components/schemas/Name";
  expect(await commentOf({ $ref: ref }, others)).toContain("A name.");
  expect(await commentOf({ $ref: ref, description: "Its name." }, others)).toBe(
    "/**\n * Its name.\n *\n * At most 8 characters.\n */",
  );
});

test("a schema whose name cannot be that of a type is refused with its pointer", async () => {
  await expect(typesOf({ "a-b": { type: "string" } })).rejects.toThrow(
    "#/components/schemas/a-b: the name of a schema",
  );
  await expect(typesOf({ Error: { type: "string" } })).rejects.toThrow("#/components/schemas/Error: JavaScript has");
  await expect(typesOf({ operations: { type: "string" } })).rejects.toThrow(
    "#/components/schemas/operations: generated",
  );
});
