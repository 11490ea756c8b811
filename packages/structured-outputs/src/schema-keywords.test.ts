import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { testVocabulary } from "../test/constraint-vocabulary.js";
import { allowedTokens, randomWalk, seededRandom } from "../test/random-walk.js";
import { constraintSource } from "./constraint-source.js";
import { openConstraints } from "./constraints.js";
import type { ConstraintSession } from "./constraints.js";

const vocabulary = testVocabulary();
const constraints = openConstraints(vocabulary);
afterAll(() => constraints.close());

const session = (schema: unknown): Promise<ConstraintSession> => constraints.compile({ type: "json_schema", schema });

/** Whether the grammar allows the text as a whole. */
async function allows(schema: unknown, text: string): Promise<boolean> {
  const open = await session(schema);
  try {
    for (const byte of Buffer.from(text)) open.accept(byte);
    return allowedTokens((await open.next()).mask).includes(vocabulary.end);
  } catch (error) {
    if (error instanceof HeddleError && error.code === "failed") return false;
    throw error;
  } finally {
    open.close();
  }
}

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const safe = Number.MAX_SAFE_INTEGER;

/** Schemas, texts that they allow, and texts that they do not. */
const cases: [string, unknown, string[], string[]][] = [
  [
    "the bounds of z.int()",
    { type: "integer", minimum: -safe, maximum: safe },
    [String(safe), String(-safe), "0"],
    ["9007199254740992", "-9007199254740992", "1.5", "00"],
  ],
  [
    "the bounds of int64, without integers that readers round",
    { type: "integer", minimum: -(2 ** 63), maximum: 2 ** 63 },
    [String(safe), "-5"],
    ["9223372036854775808", "9007199254740993"],
  ],
  ["exclusive safe bounds", { type: "integer", exclusiveMinimum: safe - 2 }, [String(safe), String(safe - 1)], ["5"]],
  ["a format of another type", { type: "integer", format: "int32" }, ["12"], ["1.5"]],
  [
    "a UUID of one version",
    { type: "string", format: "uuid4" },
    ['"a3bb189e-8bf9-4888-9912-ace4e6543002"'],
    ['"a3bb189e-8bf9-3888-9912-ace4e6543002"', '"a"'],
  ],
  ["an unknown format", { type: "string", format: "color" }, ['"red"'], ["1"]],
  ["unknown keywords", { type: "string", "x-order": 1, unit: "cm", contentMediaType: "text/html" }, ['"a"'], ["1"]],
  [
    "a pattern and a length",
    { type: "string", pattern: "^[a-z]+$", minLength: 2, maxLength: 3 },
    ['"ab"'],
    ['"a"', '"abcd"'],
  ],
  [
    "a pattern in groups and a length",
    { type: "string", pattern: "^[a-z]+(-[a-z]+)*$", minLength: 4, maxLength: 6 },
    ['"ab-c"', '"abcdef"', '"a-b-cd"'],
    ['"a-b"', '"a-b-c-d"', '"ab--c"'],
  ],
  ["a format and a length", { type: "string", format: "email", maxLength: 6 }, ['"a@b.co"'], ['"aa@b.com"']],
  [
    "several patterns",
    { allOf: [{ type: "string", minLength: 3 }, { pattern: "[A-Z]" }, { pattern: "[0-9]" }] },
    ['"aB1"', '"1xB"'],
    ['"ab1"', '"ABC"', '"B1"'],
  ],
  ["look-ahead", { type: "string", pattern: "^(?!admin$)(?=.*\\d)[a-z0-9]{5}$" }, ['"abcd1"'], ['"abcde"', '"admin"']],
  [
    "a decimal as Pydantic 2.12 prints it, with an anchor in what looks ahead",
    { type: "string", pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$" },
    ['"12.50"', '"-.5"', '"7"'],
    ['"-"', '"."', '""', '"1e5"'],
  ],
  [
    "one of few digits",
    { type: "string", pattern: "^(?!^[-+.]*$)[+-]?0*(?:\\d{0,3}|(?=[\\d.]{1,6}0*$)\\d{0,3}\\.\\d{0,2}0*$)" },
    ['"123.45"', '"-1.5"', '"007"'],
    ['"1.234"', '"+"'],
  ],
  ["Unicode properties", { type: "string", pattern: "^\\p{Lu}\\p{Ll}+$" }, ['"Éa"'], ['"éa"']],
  ["nullable beside a type", { type: "string", maxLength: 1, nullable: true }, ['"a"', "null"], ['"ab"']],
  ["multiples", { type: "integer", multipleOf: 7 }, ["0", "7", "-14", "7000000000007"], ["1", "-8", "70000000000001"]],
  [
    "multiples in a range",
    { type: "integer", multipleOf: 15, minimum: 20, exclusiveMaximum: 90 },
    ["30", "75"],
    ["15", "90", "0"],
  ],
  [
    "multiples of thousands",
    { type: "integer", multipleOf: 2000, minimum: 1 },
    ["2000", "14000"],
    ["0", "1000", "-2000"],
  ],
  ["halves", { type: "number", multipleOf: 0.5, minimum: -1, maximum: 1 }, ["-0.5", "1.0"], ["0.25", "1.5"]],
  [
    "multiples on both sides of zero",
    { type: "integer", multipleOf: 77, minimum: -1e4, maximum: 2e4 },
    ["-77", "770"],
    ["-10010", "-110"],
  ],
  [
    "different values of a list",
    { type: "array", items: { enum: ["a", "b", "c"] }, uniqueItems: true, minItems: 2 },
    ['["c","a"]', '["a","b","c"]'],
    ['["a"]', '["a","a"]'],
  ],
  [
    "different booleans",
    { type: "array", items: { type: "boolean" }, uniqueItems: true },
    ["[]", "[true,false]"],
    ["[true,true]"],
  ],
  [
    "at least one member",
    { type: "object", minProperties: 1, additionalProperties: { type: "integer" } },
    ['{"a":1}', '{"a":1,"b":2}'],
    ["{}"],
  ],
  [
    "a number of declared members",
    object(
      { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } },
      { minProperties: 2, maxProperties: 2, additionalProperties: false },
    ),
    ['{"a":1,"b":2}', '{"a":1,"c":3}', '{"b":2,"c":3}'],
    ["{}", '{"c":3}', '{"a":1,"b":2,"c":3}'],
  ],
  [
    "members by patterns",
    {
      type: "object",
      patternProperties: { "^a": { type: "integer" }, z$: { minimum: 5, type: "number" } },
      additionalProperties: { type: "string" },
    },
    ['{"ab":1}', '{"yz":5.5}', '{"az":6}', '{"b":"x"}'],
    ['{"ab":"x"}', '{"az":5.5}', '{"az":1}', '{"b":1}'],
  ],
  [
    "declared members that a pattern matches",
    { type: "object", properties: { a1: { maximum: 5 } }, patternProperties: { "^a": { type: "integer" } } },
    ['{"a1":3}', '{"a2":9}'],
    ['{"a1":9}', '{"a1":1.5}', '{"b":1}'],
  ],
  [
    "names by pattern",
    { type: "object", propertyNames: { pattern: "^[a-z]{2}$" }, additionalProperties: true },
    ['{"ab":1}'],
    ['{"a":1}', '{"AB":1}'],
  ],
  [
    "names of a list",
    { type: "object", propertyNames: { enum: ["x", "y"] }, additionalProperties: { type: "integer" }, required: ["y"] },
    ['{"x":1,"y":2}', '{"y":1}'],
    ['{"x":1}', '{"z":1,"y":2}', '{"y":"a"}'],
  ],
  [
    "required members that only additionalProperties describes",
    { type: "object", required: ["a"], additionalProperties: { type: "integer" } },
    ['{"a":1}', '{"a":1,"b":2}'],
    ["{}", '{"b":2}', '{"a":"x"}'],
  ],
  [
    "all of several objects",
    {
      allOf: [
        object({ a: { type: "integer" } }, { required: ["a"] }),
        object({ a: { minimum: 3 }, b: { type: "string" } }),
      ],
    },
    ['{"a":3}', '{"a":4,"b":"x"}'],
    ['{"a":2}', '{"b":"x"}'],
  ],
  [
    "siblings of a reference",
    { $ref: "#/$defs/n", minimum: 3, $defs: { n: { type: "integer", maximum: 5 } } },
    ["3", "5"],
    ["2", "6"],
  ],
  [
    "siblings of alternatives",
    { type: "integer", minimum: 0, anyOf: [{ maximum: 3 }, { minimum: 7, maximum: 8 }, { type: "string" }] },
    ["3", "8"],
    ["4", "9", '"a"'],
  ],
  ["an enum with other keywords", { enum: ["a", "abc", 5, 1], minLength: 2, minimum: 4 }, ['"abc"', "5"], ['"a"', "1"]],
  [
    "a recursive type beside other keywords",
    {
      $defs: { t: object({ next: { anyOf: [{ $ref: "#/$defs/t" }, { type: "null" }] } }, { required: ["next"] }) },
      $ref: "#/$defs/t",
      minProperties: 1,
    },
    ['{"next":null}', '{"next":{"next":null}}'],
    ["{}", '{"next":{}}'],
  ],
];

test.each(cases)("the schema is followed: %s", async (_, schema, valid, invalid) => {
  for (const text of valid) expect([text, await allows(schema, text)]).toEqual([text, true]);
  for (const text of invalid) expect([text, await allows(schema, text)]).toEqual([text, false]);
  const validate = new Ajv2020({ strict: false, logger: false }).compile(schema as object);
  for (const text of valid) expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
  const open = await session(schema);
  const text = await randomWalk(open, vocabulary, seededRandom(3), 300);
  open.close();
  if (text !== undefined) expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
});

test("lengths beside a pattern are counted before anything is compiled, and refused by their name", () => {
  const schema = { type: "string", pattern: "^([a-z]+[0-9]?[a-z]{30,40}x)*$", maxLength: 9000 };
  expect(() => constraintSource({ type: "json_schema", schema })).toThrow(
    expect.objectContaining({ code: "too_large", loc: ["schema", "maxLength"] }),
  );
});

test.each<[string, Parameters<typeof constraints.compile>[0]]>([
  [
    "a schema",
    {
      type: "json_schema",
      schema: object(
        { a: { type: "array", items: { const: 1 }, minItems: 2, maxItems: 2 }, b: object({}) },
        { required: ["a", "b"] },
      ),
    },
  ],
  [
    "a tag",
    {
      type: "structural_tag",
      tag: { format: { type: "json_schema", json_schema: object({ a: { const: 1 } }, { required: ["a"] }) } },
    },
  ],
])("a model that prefers white space writes little of it, and ends: %s", async (_, output) => {
  const open = await constraints.compile(output);
  const bytes: Uint8Array[] = [];
  for (let step = 0; step < 400; step++) {
    const allowed = allowedTokens((await open.next()).mask);
    const blank = allowed.find((token) => /^\s+$/.test(Buffer.from(vocabulary.tokenBytes(token)).toString()));
    const token = blank ?? allowed.find((each) => each === vocabulary.end) ?? allowed[0] ?? -1;
    open.accept(token);
    if (token === vocabulary.end) break;
    bytes.push(vocabulary.tokenBytes(token));
  }
  open.close();
  const text = Buffer.concat(bytes).toString();
  expect(() => void JSON.parse(text)).not.toThrow();
  expect(text).not.toMatch(/\s{18}|\n\s*\n/);
});

test("printed with indentation or in one line, JSON keeps its white space", async () => {
  const value = { a: [1, { b: true }], c: "x" };
  for (const text of [
    JSON.stringify(value),
    JSON.stringify(value, null, 2),
    JSON.stringify(value, null, 4),
    '{"a": [1, {"b": true}], "c": "x"}',
  ])
    expect([text, await allows({ type: "object" }, text)]).toEqual([text, true]);
});
