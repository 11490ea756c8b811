import type { StructuredOutput } from "./structured-output.js";
import { afterAll, afterEach, expect, test } from "vitest";
import { locOf } from "@heddle/errors/testing";
import type { Constraints, ConstraintOptions, ConstraintSession } from "./constraints.js";
import { openConstraints } from "./constraints.js";
import { jsonValidator } from "./schema/json-validator.js";
import { allowedTokens } from "../test/random-walk.js";
import { testVocabulary } from "../test/constraint-vocabulary.js";
import { loadXGrammar } from "./xgrammar-library.js";

const vocabulary = testVocabulary();
const shared = openConstraints(vocabulary);
afterAll(() => shared.close());
let own: Constraints | undefined;
afterEach(() => own?.close());

function opened(options: ConstraintOptions): Constraints {
  own = openConstraints(vocabulary, options);
  return own;
}

const schemaOutput = (schema: unknown): StructuredOutput => ({ type: "json_schema", schema });
/** Needs more positions than fit into memory. */
const exploding: StructuredOutput = { type: "grammar", grammar: 'root ::= ((("a"{1,900}){1,900}){1,900}){1,900}' };

function write(session: ConstraintSession, text: string): void {
  for (const byte of Buffer.from(text)) session.accept(byte);
}

async function nextTexts(session: ConstraintSession): Promise<string[]> {
  const { mask } = await session.next();
  return allowedTokens(mask).map((token) =>
    token === vocabulary.end ? "END" : Buffer.from(vocabulary.tokenBytes(token)).toString(),
  );
}

test("tokens of several characters are allowed where the constraint allows their text", async () => {
  const session = await shared.compile(
    schemaOutput({ type: "object", properties: { true: { type: "boolean" } }, required: ["true"] }),
  );
  expect(await nextTexts(session)).toEqual(["{", '{"']);
  session.accept(vocabulary.idOf('{"'));
  expect(await nextTexts(session)).toEqual(["t", "true"]);
  session.accept(vocabulary.idOf("true"));
  session.accept(vocabulary.idOf('":'));
  session.accept(vocabulary.idOf("true"));
  expect(await nextTexts(session)).toEqual(["\n", " ", "}", "\n  "]);
  session.close();
});

test("end-of-text is allowed only where the text may end", async () => {
  const session = await shared.compile({ type: "choice", choices: ["a", "a12"] });
  expect(await nextTexts(session)).toEqual(["a"]);
  write(session, "a");
  expect(await nextTexts(session)).toEqual(["1", "12", "END"]);
  session.accept(vocabulary.idOf("12"));
  expect(await session.next()).toMatchObject({ onlyEos: true });
  expect(await nextTexts(session)).toEqual(["END"]);
  session.accept(vocabulary.end);
  expect(await session.next()).toMatchObject({ onlyEos: true });
  session.close();
});

test("special tokens and ids without text are never allowed in free text", async () => {
  const padded = opened({ vocabularySize: vocabulary.vocabularySize + 100 });
  const session = await padded.compile({ type: "regex", regex: "[^a]*" });
  const { mask } = await session.next();
  expect(mask).toHaveLength(Math.ceil((vocabulary.vocabularySize + 100) / 32));
  const beyondText = allowedTokens(mask).filter((token) => token > vocabulary.idOf("\n  "));
  expect(beyondText).toEqual([vocabulary.end]);
});

test("the same constraint serves several independent completions", async () => {
  const [one, other] = await Promise.all([
    shared.compile({ type: "regex", regex: "ab|cd" }),
    shared.compile({ type: "regex", regex: "ab|cd" }),
  ]);
  write(one, "a");
  expect(await nextTexts(one)).toEqual(["b"]);
  expect(await nextTexts(other)).toEqual(["a", "c"]);
  one.close();
  other.close();
});

test("a completion continues after its grammar was evicted from the cache", async () => {
  const constraints = opened({ limits: { cachedGrammars: 1 } });
  const first = await constraints.compile({ type: "choice", choices: ["ab"] });
  for (const choice of ["c", "d", "e"]) {
    const other = await constraints.compile({ type: "choice", choices: [choice] });
    expect(await nextTexts(other)).toEqual([choice]);
    other.close();
  }
  write(first, "a");
  expect(await nextTexts(first)).toEqual(["b"]);
});

test("text with tool calls is free until the trigger, then JSON, then free again", async () => {
  const tag = {
    type: "structural_tag",
    structures: [
      { begin: "<f=a>", schema: { type: "object", properties: { x: { const: 1 } }, required: ["x"] }, end: "</f>" },
    ],
    triggers: ["<f="],
  };
  const session = await shared.compile({ type: "structural_tag", tag });
  write(session, "so é <");
  expect(await nextTexts(session)).toContain("z");
  write(session, "f=");
  expect(await nextTexts(session)).toEqual(["a"]);
  write(session, 'a>{"x":1');
  expect(await nextTexts(session)).toEqual(["\n", " ", "}", "\n  "]);
  write(session, "}</f>");
  expect(await nextTexts(session)).toEqual(expect.arrayContaining(["z", "END"]));
  session.close();
});

test("a structural tag in the newer form has patterns, choices and sequences", async () => {
  const format = {
    type: "sequence",
    elements: [
      { type: "tag", begin: "<n>", content: { type: "regex", pattern: "[0-9]{2}" }, end: "</n>" },
      {
        type: "or",
        elements: [
          { type: "const_string", value: "yes" },
          { type: "grammar", grammar: 'root ::= "n" [^a-z]' },
        ],
      },
    ],
  };
  const session = await shared.compile({ type: "structural_tag", tag: { type: "structural_tag", format } });
  write(session, "<n>12</n>");
  expect(await nextTexts(session)).toEqual(["n", "y"]);
  write(session, "né");
  expect(await session.next()).toMatchObject({ onlyEos: true });
  session.close();
});

const closed = (name: string) => ({
  type: "object",
  properties: { [name]: { type: "integer" } },
  required: [name],
  additionalProperties: false,
});
const refused: [string, unknown, string][] = [
  ["not", { properties: { a: { not: { type: "string" } } } }, "#/properties/a/not"],
  ["a remote reference", { items: { $ref: "https://example.org/s.json" } }, "#/items/$ref"],
  ["a reference to nowhere", { $ref: "#/$defs/a" }, "#/$ref"],
  ["names of alternative kinds", { type: "object", propertyNames: { anyOf: [{ minLength: 2 }] } }, "#/propertyNames"],
  ["dependent members", { type: "object", dependentRequired: { a: ["b"] } }, "#/dependentRequired"],
  ["contained items", { type: "array", contains: { const: 1 } }, "#/contains"],
  ["two members without names", { type: "object", minProperties: 2 }, "#/minProperties"],
  ["fractions of any size", { type: "number", multipleOf: 0.01 }, "#/multipleOf"],
  ["multiples of a large prime", { type: "integer", multipleOf: 7919 }, "#/multipleOf"],
  ["another base", { properties: { a: { $id: "https://example.org/a" } } }, "#/properties/a/$id"],
  ["conditions", { if: {}, else: {} }, "#/if"],
  ["unique items", { type: "array", uniqueItems: true }, "#/uniqueItems"],
  ["a required property that is not described", { properties: { a: true }, required: ["a", "b"] }, "#/required/1"],
  ["types that exclude each other", { allOf: [{ type: "object" }, { type: "string" }] }, "#/allOf/0/type"],
  ["closed objects that exclude each other", { allOf: [closed("a"), closed("b")] }, "#/allOf/1/additionalProperties"],
  ["oneOf that several may fit", { oneOf: [{ type: "number" }, { type: "integer" }] }, "#/oneOf/1"],
  ["a pattern with look-behind", { type: "string", pattern: "(?<!a)b" }, "#/pattern"],
  ["a pattern that no text matches", { type: "string", pattern: "(?!a)a" }, "#/pattern"],
  ["a pattern longer than the length", { type: "string", pattern: "a{3}", maxLength: 2 }, "#/maxLength"],
  ["an empty range", { type: "integer", minimum: 2, maximum: 1 }, "#"],
  ["more items than allowed", { type: "array", minItems: 3, maxItems: 2 }, "#/maxItems"],
  ["a type that does not exist", { type: "text" }, "#/type"],
  ["no value at all", { properties: { a: false }, required: ["a"] }, "#/properties/a"],
  ["text", "{}", "#"],
  ["a list", [], "#"],
  [
    "a loop of references",
    { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] } } },
    "#/$defs/a",
  ],
  ["a value that contains itself", { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }, "#"],
];

test.each(refused)("a JSON schema with %s is refused with its location", async (_, schema, pointer) => {
  await expect(shared.compile(schemaOutput(schema))).rejects.toMatchObject({
    code: "invalid",
    loc: locOf(`schema${pointer.slice(1).replaceAll("/", ".")}`),
  });
});

test.each<[StructuredOutput, string]>([
  [{ type: "regex", regex: "a(?=b)" }, "regex"],
  [{ type: "regex", regex: "(?<=a)b" }, "regex"],
  [{ type: "regex", regex: "(a(?=b))*b" }, "regex"],
  [{ type: "regex", regex: "\\p{Nothing}" }, "regex"],
  [{ type: "regex", regex: "(a" }, "regex"],
  [{ type: "regex", regex: "a**" }, "regex"],
  [{ type: "regex", regex: "(a)\\1" }, "regex"],
  [{ type: "regex", regex: "a\\b" }, "regex"],
  [{ type: "regex", regex: "a^b" }, "regex"],
  [{ type: "regex", regex: "[b-a]" }, "regex"],
  [{ type: "regex", regex: "[]" }, "regex"],
  [{ type: "regex", regex: "\\u{110000}" }, "regex"],
  [{ type: "choice", choices: [] }, "choices"],
  [{ type: "regex", regex: "a", choices: ["b"] } as StructuredOutput, "choices"],
  [{ type: "regex", regex: 1 } as unknown as StructuredOutput, "regex"],
  [{ type: "regex" } as StructuredOutput, "regex"],
  [{ type: "lark" } as unknown as StructuredOutput, "type"],
  [{ type: "choice", choices: ["a", 1] } as unknown as StructuredOutput, "choices.1"],
  [{ type: "grammar", grammar: " " }, "grammar"],
  [{ type: "grammar", grammar: 'root ::= "a" | b' }, "grammar"],
  [{ type: "grammar", grammar: 'start ::= "a"' }, "grammar"],
  [{ type: "grammar", grammar: "root ::= [z-a]" }, "grammar"],
  [{ type: "structural_tag", tag: { type: "structural_tag" } }, "tag"],
  [{ type: "structural_tag", tag: { format: { type: "any_text", more: 1 } } }, "tag.format.more"],
  [{ type: "structural_tag", tag: { format: { type: "qwen_xml_parameter" } } }, "tag.format.type"],
  [
    { type: "structural_tag", tag: { structures: [{ begin: "<a>", schema: { not: {} }, end: "" }], triggers: ["<a"] } },
    "tag.tags.0.content.json_schema.not",
  ],
  [
    { type: "structural_tag", tag: { structures: [{ begin: "x", schema: {}, end: "" }], triggers: ["<a"] } },
    "tag.tags.0.begin",
  ],
  [{ type: "json_schema", schema: true, whitespacePattern: "\\s*" }, "whitespacePattern"],
  [{ type: "json_schema", schema: true, whitespace: false, whitespacePattern: " " }, "whitespacePattern"],
])("%j is refused with its location", async (output, path) => {
  await expect(shared.compile(output)).rejects.toMatchObject({ code: "invalid", loc: locOf(path) });
});

test("a grammar with a mistake names it, without the library's own files", async () => {
  const refusal = shared.compile({ type: "grammar", grammar: 'root ::= "a"\n  | missing' });
  await expect(refusal).rejects.toThrow(
    'The constraint cannot be used: EBNF parser error at line 2, column 5: Rule "missing" is not defined.',
  );
});

test("a constraint too large to compile is refused, and other completions continue", async () => {
  const constraints = opened({ limits: { memoryBytes: 128 * 2 ** 20, slowMs: -1 } });
  const waiting = await constraints.compile({ type: "regex", regex: "(ab)+c" });
  write(waiting, "aba");
  const [tooLarge, other] = await Promise.allSettled([
    constraints.compile(exploding),
    constraints.compile({ type: "choice", choices: ["x"] }),
  ]);
  expect(tooLarge).toMatchObject({ status: "rejected", reason: { code: "too_large", loc: ["grammar"] } });
  expect(other.status).toBe("fulfilled");
  expect(await nextTexts(waiting)).toEqual(["b"]);
  write(waiting, "bc");
  expect(await waiting.next()).toMatchObject({ onlyEos: true });
});

test("a constraint that takes too long to compile is refused, and the next one works", async () => {
  const constraints = opened({ limits: { compileMs: 2_000, slowMs: -1 } });
  const waiting = await constraints.compile({ type: "choice", choices: ["xy"] });
  write(waiting, "x");
  // Its automaton doubles with every count.
  const endless = constraints.compile({ type: "regex", regex: "[ab]*a[ab]{60}" });
  await expect(endless).rejects.toMatchObject({ code: "too_large", loc: ["regex"] });
  expect(await nextTexts(waiting)).toEqual(["y"]);
});

test("other completions continue while a constraint compiles", async () => {
  const constraints = opened({ limits: { compileMs: 20_000, slowMs: 2_000 } });
  const going = await constraints.compile({ type: "regex", regex: "(ab)+" });
  const long = schemaOutput({ enum: Array.from({ length: 4_000 }, (_, at) => `value ${at}`) });
  const compiled = constraints.compile(long).then(
    () => "compiled",
    () => "refused",
  );
  const texts = async () => {
    write(going, "abab");
    return nextTexts(going);
  };
  expect(await Promise.race([compiled, texts()])).toEqual(["a", "END"]);
  expect(await compiled).toBe("compiled");
});

test("a constraint that becomes slow continues in the thread for slow ones", async () => {
  const constraints = opened({ limits: { slowMs: 0.5 } });
  const session = await constraints.compile({ type: "regex", regex: "((a?){0,40}b)+" });
  for (let step = 0; step < 30; step++) {
    write(session, step % 3 === 2 ? "b" : "a");
    expect(await nextTexts(session)).toEqual(step % 3 === 2 ? ["a", "b", "END"] : ["a", "b"]);
  }
});

test.each<[string, StructuredOutput]>([
  ["a regular expression of many counts", { type: "regex", regex: "((a{1,200}){1,200}){1,200}" }],
  ["a long regular expression", { type: "regex", regex: "a".repeat(20_000) }],
  ["many choices", { type: "choice", choices: Array.from({ length: 5_000 }, (_, index) => `${index}`) }],
  ["a huge schema", schemaOutput({ enum: Array.from({ length: 60_000 }, (_, index) => index) })],
])("%s: too large is reported immediately", async (_, output) => {
  await expect(shared.compile(output)).rejects.toMatchObject({ code: "too_large" });
});

test.each<[string, StructuredOutput]>([
  ["groups", { type: "regex", regex: `${"(".repeat(2_000)}a${")".repeat(2_000)}` }],
  ["parentheses", { type: "grammar", grammar: `root ::= ${"(".repeat(2_000)}"a"${")".repeat(2_000)}` }],
  ["a schema", schemaOutput(JSON.parse(`${'{"items":'.repeat(2_000)}true${"}".repeat(2_000)}`))],
])("%s that nest too deeply are refused", async (_, output) => {
  await expect(shared.compile(output)).rejects.toMatchObject({ code: "invalid" });
});

test("a token that the constraint does not allow is an error, reported by the next call", async () => {
  const session = await shared.compile({ type: "choice", choices: ["a"] });
  write(session, "b");
  await expect(session.next()).rejects.toMatchObject({ code: "failed" });
  session.close();
});

test("a vocabulary that cannot express the text is reported", async () => {
  const { end, ...letters } = testVocabulary();
  const withoutX = {
    ...letters,
    tokenBytes: (id: number) => (id === 0x78 ? new Uint8Array() : letters.tokenBytes(id)),
  };
  own = openConstraints(withoutX);
  await expect(own.compile({ type: "choice", choices: ["x"] })).rejects.toMatchObject({ code: "invalid" });
  await expect(openConstraints({ ...letters, eosIds: [] }).compile({ type: "json_object" })).rejects.toMatchObject({
    code: "unsupported",
  });
  expect(end).toBeGreaterThan(0);
});

test("closing rejects pending calls", async () => {
  const constraints = openConstraints(vocabulary);
  const compiling = constraints.compile({ type: "json_object" });
  const outcome = expect(compiling).rejects.toMatchObject({ code: "aborted" });
  await constraints.close();
  await outcome;
  await expect(constraints.compile({ type: "json_object" })).rejects.toMatchObject({ code: "aborted" });
});

test("without the grammar library one sentence states the reason", () => {
  expect(() => loadXGrammar(() => {}, "@mlc-ai/not-installed")).toThrow(
    "Structured outputs need the package @mlc-ai/not-installed, which is not installed.",
  );
});

test("finished JSON is checked against its schema", () => {
  const check = jsonValidator({
    $schema: "http://json-schema.org/draft-07/schema#",
    properties: { a: { type: "integer" } },
  });
  expect(check('{"a":1}')).toBeUndefined();
  expect(check('{"a":"1"}')).toBe("/a must be integer");
  expect(check('{"a":')).toBe("it is not JSON");
});
