import { expect, test } from "vitest";
import { readEntered, withChoice } from "./answers.js";
import { fieldOf, inputOf } from "./field.js";
import type { Field } from "./field.js";
import { numbersOf } from "./numbers.js";

const spec = (name: string, schema: unknown, rest: object = {}): Field => {
  const value = { _class_name: "AnnotationSpec", field_schema: schema, ...rest };
  return fieldOf(`weave:///a/b/object/${name}:v0`, value) as Field;
};
const values = (schema: Record<string, unknown>) => {
  const input = inputOf(schema);
  return input.kind === "choices" ? input.choices.map(({ value }) => value) : input.kind;
};

test("a schema says how a value is entered", () => {
  expect(values({ type: "boolean" })).toEqual([true, false]);
  expect(values({ type: "string", enum: ["low", "high", null] })).toEqual(["low", "high"]);
  expect(values({ type: "integer", minimum: 1, maximum: 3 })).toEqual([1, 2, 3]);
  expect(values({ anyOf: [{ type: "boolean" }, { type: "null" }] })).toEqual([true, false]);
  expect(values({ oneOf: [{ const: 1, title: "bad" }, { const: 2 }] })).toEqual([1, 2]);
  expect(inputOf({ type: ["string", "null"], maxLength: 5 })).toEqual({ kind: "text", longest: 5 });
  expect(inputOf({ type: "number", minimum: 0, maximum: 1 })).toEqual({
    kind: "number",
    isInteger: false,
    least: 0,
    most: 1,
  });
  expect(inputOf({ type: "integer", minimum: 0, maximum: 1_000_000 })).toMatchObject({ kind: "number" });
  expect(inputOf({ type: "array", items: { enum: ["a", "b"] } })).toMatchObject({ kind: "choices", many: true });
  for (const schema of [{}, { type: "object" }, { type: "array" }, { enum: "no list" }, { type: ["a", "b"] }])
    expect(inputOf(schema)).toEqual({ kind: "json" });
});

test("an object that is not a specification asks nothing, and a name is what was given", () => {
  expect(fieldOf("weave:///a/b/object/judge:v0", { _class_name: "LLMAsAJudgeScorer" })).toBeUndefined();
  expect(fieldOf("weave:///a/b/object/judge:v0", null)).toBeUndefined();
  expect(spec("is%20right", { type: "boolean" })).toMatchObject({ name: "is right", title: "is right" });
  expect(spec("x", { type: "boolean" }, { name: "Right?", description: "Is it?" })).toMatchObject({
    title: "Right?",
    description: "Is it?",
  });
});

test("numbers continue over fields, and none goes beyond nine", () => {
  const fields = [
    spec("correct", { enum: ["yes", "no", "partly"] }),
    spec("comment", { type: "string" }),
    spec("many", { enum: "a b c d e f g h i j".split(" ") }),
    spec("severity", { type: "integer", minimum: 1, maximum: 3 }),
    spec("rest", { enum: ["a", "b", "c", "d"] }),
  ];
  expect(numbersOf(fields).map(({ field, choice }) => `${field.name} ${choice.label}`)).toEqual([
    "correct yes",
    "correct no",
    "correct partly",
    "severity 1",
    "severity 2",
    "severity 3",
  ]);
});

test("a choice made again is taken back, and a list has the order of the schema", () => {
  const one = spec("one", { type: "boolean" });
  const many = spec("many", { type: "array", items: { enum: ["a", "b", "c"] } });
  const yes = withChoice(new Map(), one, false);
  expect(yes.get(one.ref)).toBe(false);
  expect(withChoice(yes, one, false).has(one.ref)).toBe(false);
  const both = withChoice(withChoice(new Map(), many, "c"), many, "a");
  expect(both.get(many.ref)).toEqual(["a", "c"]);
  expect(withChoice(withChoice(both, many, "a"), many, "c").has(many.ref)).toBe(false);
});

test("what is entered is a value, nothing, or a mistake that says what to enter", () => {
  const number = spec("n", { type: "integer", minimum: 0 });
  expect(readEntered(number, "3")).toEqual({ value: 3 });
  expect(readEntered(number, " ")).toEqual({ value: undefined });
  for (const text of ["x", "1.5", "-1", "1e999"]) expect(readEntered(number, text)).toHaveProperty("mistake");
  expect(readEntered(spec("t", { type: "string", maxLength: 2 }), "😀😀")).toEqual({ value: "😀😀" });
  expect(readEntered(spec("t", { type: "string", maxLength: 2 }), "abc")).toHaveProperty("mistake");
  expect(readEntered(spec("j", {}), "{")).toHaveProperty("mistake");
  expect(readEntered(spec("j", {}), "[1]")).toEqual({ value: [1] });
});
