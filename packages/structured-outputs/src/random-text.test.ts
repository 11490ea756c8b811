import type { StructuredOutput } from "./structured-output.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, expect, test } from "vitest";
import { openConstraints } from "./constraints.js";
import { randomWalk, seededRandom } from "../test/random-walk.js";
import { testVocabulary } from "../test/constraint-vocabulary.js";

const vocabulary = testVocabulary();
const constraints = openConstraints(vocabulary);
afterAll(() => constraints.close());

/** Texts of `walks` random completions, of which at least one has ended. */
async function texts(output: StructuredOutput, walks = 6): Promise<string[]> {
  const random = seededRandom(walks);
  const found: string[] = [];
  for (let walk = 0; walk < walks; walk++) {
    const session = await constraints.compile(output);
    const text = await randomWalk(session, vocabulary, random, 250);
    session.close();
    if (text !== undefined) found.push(text);
  }
  expect(found.length).toBeGreaterThan(0);
  return found;
}

const schemas: Record<string, unknown> = {
  anything: true,
  "an object of anything": { type: "object" },
  "an array of anything": { type: "array" },
  "optional and required members": {
    type: "object",
    properties: { a: { type: "integer" }, b: { type: "string" }, c: { type: "boolean" }, d: { type: "null" } },
    required: ["b"],
    additionalProperties: false,
  },
  "names that need escapes": {
    type: "object",
    properties: {
      'q"uote': { const: 1 },
      "back\\slash": { const: 2 },
      "new\nline": { const: 3 },
      "é😀 #[a-z]": { const: 4 },
    },
    required: ['q"uote', "back\\slash", "new\nline", "é😀 #[a-z]"],
  },
  "additional members of another type": {
    type: "object",
    properties: { a: { type: "integer" }, ab: { type: "integer" }, é: { type: "integer" } },
    additionalProperties: { type: "string", maxLength: 2 },
  },
  "strings of bounded length": {
    type: "array",
    items: { type: "string", minLength: 2, maxLength: 4 },
    minItems: 1,
    maxItems: 5,
  },
  "strings by pattern": {
    type: "object",
    properties: { a: { type: "string", pattern: '^[^a]{1,3}[\\s"\\\\]?$' }, b: { pattern: "\\w+[\\-](x|[^\\d\\W])" } },
    required: ["a", "b"],
  },
  "strings by format": {
    type: "array",
    prefixItems: ["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"].map(
      (format) => ({
        type: "string",
        format,
      }),
    ),
  },
  "integers in a range": {
    type: "array",
    items: {
      anyOf: [
        { type: "integer", minimum: -120, maximum: 3456 },
        { type: "integer", exclusiveMinimum: -3, exclusiveMaximum: 1 },
        { type: "integer", minimum: 0.5 },
        { type: "integer", maximum: -7 },
      ],
    },
  },
  "numbers in a range": {
    type: "array",
    items: {
      anyOf: [
        { type: "number", minimum: 0, maximum: 1 },
        { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.25 },
        { type: "number", minimum: -1.5, maximum: 12.75 },
        { type: "number", exclusiveMinimum: -3.5, maximum: -3.25 },
        { type: "number", minimum: 99.05 },
        { type: "number", exclusiveMaximum: -0.001 },
      ],
    },
  },
  "fixed values": { enum: ["a/b", '\u0000"', 1.5, -0.001, null, { x: [1, "é"] }, "😀"] },
  "an enum cut down by its type": { type: ["string", "integer"], enum: ["a", 1, 1.5, null] },
  "fixed places, then others": {
    type: "array",
    prefixItems: [{ type: "string" }, { type: "integer" }],
    items: { type: "boolean" },
    minItems: 3,
    maxItems: 4,
  },
  "a tree": {
    type: "object",
    properties: {
      name: { type: "string", maxLength: 3 },
      children: { type: "array", items: { $ref: "#" }, maxItems: 2 },
    },
    required: ["name"],
  },
  "references with escapes": {
    $defs: { "a/b~c": { type: "integer", minimum: 5 }, list: { type: "array", items: { $ref: "#/$defs/a~1b~0c" } } },
    $ref: "#/$defs/list",
  },
  "one of different kinds": {
    oneOf: [
      { type: "object", properties: { kind: { const: "circle" }, r: { type: "number" } }, required: ["kind", "r"] },
      {
        type: "object",
        properties: { kind: { const: "square" }, side: { type: "number" } },
        required: ["kind", "side"],
      },
      { type: "string" },
    ],
  },
  "types without further words": { type: ["string", "null", "boolean", "number"] },
};

test.each(Object.entries(schemas))("every sampled text satisfies the schema: %s", async (_, schema) => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema as object);
  for (const text of await texts({ type: "json_schema", schema })) {
    expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
  }
});

test("without white space, JSON is written in one way", async () => {
  const schema = {
    type: "object",
    properties: { a: { type: "array", items: { type: "boolean" } }, b: { const: 1 } },
    required: ["a", "b"],
  };
  for (const text of await texts({ type: "json_schema", schema, whitespace: false })) {
    expect(text).toBe(JSON.stringify(JSON.parse(text)).replaceAll(",", ", ").replaceAll(":", ": "));
  }
});

test("a whitespace pattern is the only white space", async () => {
  const schema = { type: "array", items: { const: 1 }, minItems: 2 };
  for (const text of await texts({ type: "json_schema", schema, whitespacePattern: "(\\n {2})?" })) {
    expect(text).toMatch(/^\[(\n {2})?1((\n {2})?,(\n {2})?1)+(\n {2})?\]$/);
  }
});

test("any JSON object, and nothing else, for json_object", async () => {
  for (const text of await texts({ type: "json_object" })) expect(JSON.parse(text)).toEqual(expect.any(Object));
});

test.each([
  "[a-c]{2,5}",
  "^(yes|no|may(be)?)$",
  "(?:\\d{3}-){2}\\d{4}",
  "(a?)*b+?c{0}",
  "[^\\s\\w]{1,4}",
  ".{3}",
  "\\u00e9\\x41\\u{1F600}[\\]\\-a-]",
  "(?<year>[0-9]{4})(?:/(0[1-9]|1[0-2]))?",
  '\\{\\}\\[\\]\\(\\)"\\\\#',
  "",
])("every sampled text matches the regular expression %s", async (regex) => {
  const whole = new RegExp(`^(?:${regex})$`, "u");
  for (const text of await texts({ type: "regex", regex })) expect(text).toMatch(whole);
});

test("every choice is sampled, and nothing else", async () => {
  const choices = ["yes", "yes, sir", "no", 'say "no"\n', "", "é😀"];
  const found = await texts({ type: "choice", choices }, 60);
  expect([...new Set(found)].toSorted()).toEqual(choices.toSorted());
});

test("text follows a grammar", async () => {
  const grammar = 'root ::= term ("+" term)*\nterm ::= [0-9] | "(" root ")"';
  for (const text of await texts({ type: "grammar", grammar })) expect(text).toMatch(/^[0-9+()]+$/);
});
