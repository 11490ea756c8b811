import { describe, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { asBuiltinClass } from "@heddle/trace-model";
import { Variables } from "../llm-models/variables.js";
import { scorerClasses, scorerClassOf } from "./scorer-classes.js";
import { scorerSettings } from "./scorer-value.js";

/** Scores values by name with a scorer of a class. */
async function score(className: string, parameters: object, values: Record<string, unknown>): Promise<unknown> {
  const scorerClass = scorerClassOf(className);
  if (scorerClass === undefined) throw new Error(`no class ${className}`);
  const settings = scorerSettings(scorerClass, JSON.stringify(parameters));
  const run = scorerClass.open!(settings.parameters);
  const texts = Object.entries(values).map(([name, value]): [string, string] => [name, JSON.stringify(value)]);
  return run(new Variables(new Map(texts)));
}

const failure = async (scored: Promise<unknown>): Promise<HeddleError> => {
  const error = await scored.then(
    (result) => expect.unreachable(JSON.stringify(result)),
    (caught: unknown) => caught,
  );
  if (!(error instanceof HeddleError)) throw error;
  return error;
};

const long = "x".repeat(5_000_000);
const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const call = (name: string, args?: unknown) => ({ name, ...(args !== undefined && { arguments: args }) });
const message = (...calls: object[]) => ({
  role: "assistant",
  content: null,
  tool_calls: calls.map((call) => ({ id: "1", type: "function", function: call })),
});

type Row = [parameters: object, output: unknown, expected: unknown, result: object];

describe.each<[string, Row[]]>([
  [
    "ExactMatchScorer",
    [
      [{}, "Paris", "Paris", { passed: true }],
      [{}, "Paris", "paris", { passed: false }],
      [{ ignore_case: true }, "Paris", "PARIS", { passed: true }],
      [{}, " Paris\n", "Paris", { passed: false }],
      [{ ignore_whitespace: true }, " New\n York ", "New York", { passed: true }],
      [{}, { a: 1, b: [true, null] }, { b: [true, null], a: 1 }, { passed: true }],
      [{}, { a: 1 }, { a: 1, b: 2 }, { passed: false }],
      [{}, [1, 2], [2, 1], { passed: false }],
      [{}, "1", 1, { passed: false }],
      [{}, null, null, { passed: true }],
      [{}, long, `${long}y`, { passed: false }],
    ],
  ],
  [
    "ContainsScorer",
    [
      [{}, "in Paris, France", "Paris", { passed: true, score: 1 }],
      [{}, "in Paris", ["Paris", "France"], { passed: false, score: 0.5, reason: 'missing: "France"' }],
      [{ require: "any" }, "in Paris", ["Paris", "France"], { passed: true, score: 0.5 }],
      [{ values: ["sorry"], require: "none" }, "I am sorry", 0, { passed: false, score: 1, reason: 'found: "sorry"' }],
      [{ values: ["SORRY"], ignore_case: true }, "sorry", 0, { passed: true, score: 1 }],
      [{ values: ['"a":1'] }, { a: 1 }, 0, { passed: true, score: 1 }],
      [{ values: ["xy"] }, `${long}y`, 0, { passed: true, score: 1 }],
    ],
  ],
  [
    "RegexScorer",
    [
      [{ pattern: "\\d{4}" }, "in 1969.", 0, { passed: true, match: "1969" }],
      [{ pattern: "\\d{4}", full_match: true }, "in 1969.", 0, { passed: false }],
      [{ pattern: "[a-z]+", ignore_case: true, full_match: true }, "ABC", 0, { passed: true, match: "ABC" }],
      [{ pattern: "^\\p{Greek}+$" }, "λόγος", 0, { passed: true, match: "λόγος" }],
      [{ pattern: "(a+)+$" }, `${"a".repeat(100_000)}b`, 0, { passed: false }],
      [{ pattern: "(?:a|aa|a?)*c" }, "a".repeat(100_000), 0, { passed: false }],
      [{ pattern: "x+" }, "x".repeat(1000), 0, { passed: true, match: "x".repeat(200) }],
    ],
  ],
  [
    "JsonValidityScorer",
    [
      [{}, '{"a": 1}', 0, { passed: true }],
      [{}, "{'a': 1}", 0, { passed: false }],
      [{}, "", 0, { passed: false }],
      [{}, { a: 1 }, 0, { passed: true }],
      [{}, deep(200), 0, { passed: true }],
      [{}, deep(100_000), 0, { passed: false }],
      [{}, "[".repeat(1_000_000), 0, { passed: false }],
    ],
  ],
  [
    "JsonSchemaScorer",
    [
      [{ schema: { type: "object", required: ["a"] } }, '{"a": 1}', 0, { passed: true }],
      [{ schema: { type: "object", required: ["a"] } }, { a: 1 }, 0, { passed: true }],
      [
        { schema: { properties: { a: { type: "number" } } } },
        { a: "1" },
        0,
        { passed: false, reason: 'a: Instance type "string" is invalid. Expected "number".' },
      ],
      [{ schema: {} }, "no JSON", 0, { passed: false, reason: "the output is not JSON" }],
      [{ schema: {} }, deep(100_000), 0, { passed: false, reason: "the output is not JSON" }],
    ],
  ],
  [
    "NumericToleranceScorer",
    [
      [{}, 42, 42, { passed: true, difference: 0 }],
      [{}, "42", 42, { passed: true, difference: 0 }],
      [{}, 43, "42", { passed: false, difference: 1 }],
      [{ absolute: 1 }, 41, 42, { passed: true, difference: -1 }],
      [{ relative: 0.1 }, 110, 100, { passed: true, difference: 10 }],
      [{ relative: 0.1 }, 111, 100, { passed: false, difference: 11 }],
      [{}, "about 7 or 8", 8, { passed: false, reason: "the output has no number" }],
      [{ find: "last" }, "about 7 or 8", 8, { passed: true, difference: 0 }],
      [{ find: "first" }, "about 7 or -8e1", 7, { passed: true, difference: 0 }],
      [{}, true, 1, { passed: false, reason: "the output has no number" }],
      [{}, "1e999", 1, { passed: false, reason: "the output has no number" }],
      [{ find: "last" }, "1".repeat(900_000), 1, { passed: false, reason: "the output has no number" }],
    ],
  ],
  [
    "StringDistanceScorer",
    [
      [{}, "kitten", "sitting", { score: 1 - 3 / 7, distance: 3 }],
      [{ threshold: 0.5 }, "kitten", "sitting", { score: 1 - 3 / 7, distance: 3, passed: true }],
      [{ threshold: 0.9, ignore_case: true }, "ABC", "abc", { score: 1, distance: 0, passed: true }],
      [{}, "", "", { score: 1, distance: 0 }],
      [{}, "", "abc", { score: 0, distance: 3 }],
      [{}, "a".repeat(10_000), "b".repeat(10_000), { score: 0, distance: 10_000 }],
    ],
  ],
  [
    "TokenSimilarityScorer",
    [
      [{}, "The cat sat.", "the cat sat", { score: 1 }],
      [{}, "the cat", "the dog", { score: 0.5 }],
      [{ measure: "jaccard" }, "the cat", "the dog", { score: 1 / 3 }],
      [{ measure: "cosine" }, "a b a", "a b a", { score: 1 }],
      [{ measure: "rouge_l" }, "c b a", "a b c", { score: 1 / 3 }],
      [{ threshold: 0.9 }, "the cat", "the dog", { score: 0.5, passed: false }],
      [{}, "我喜欢猫", "我喜欢猫", { score: 1 }],
      [{}, "...", "", { score: 1 }],
      [{}, "word", "", { score: 0 }],
      [{ measure: "cosine" }, "constructor __proto__", "constructor", { score: 1 / Math.SQRT2 }],
    ],
  ],
  [
    "ToolCallScorer",
    [
      [{}, message(call("add", '{"a": 1, "b": 2}')), call("add", { b: 2, a: 1 }), { passed: true, score: 1 }],
      [{}, message(call("add", "not JSON")), call("add"), { passed: true, score: 1 }],
      [
        {},
        message(call("add", { a: 1 })),
        call("add", { a: 2 }),
        { passed: false, score: 0, reason: "0 of 1 expected calls matched; the output has 1" },
      ],
      [{ arguments: "ignore" }, message(call("add", { a: 1 })), call("add", { a: 2 }), { passed: true, score: 1 }],
      [
        { arguments: "subset" },
        [call("add", { a: 1, o: { x: 1, y: 2 } })],
        [call("add", { o: { x: 1 } })],
        { passed: true, score: 1 },
      ],
      [
        {},
        [call("a"), call("b")],
        [call("a")],
        { passed: false, score: 0.5, reason: "1 of 1 expected calls matched; the output has 2" },
      ],
      [{ allow_extra: true }, [call("a"), call("b")], ["b"], { passed: true, score: 1 }],
      [{}, [call("a"), call("b")], ["b", "a"], { passed: true, score: 1 }],
      [
        { order: "same" },
        [call("a"), call("b")],
        ["b", "a"],
        { passed: false, score: 0.5, reason: "1 of 2 expected calls matched; the output has 2" },
      ],
      // The wildcard must not take the only call that fits the other.
      [{}, [call("a", { x: 1 }), call("a", { x: 2 })], ["a", call("a", { x: 1 })], { passed: true, score: 1 }],
      [
        {},
        { role: "assistant", content: [{ type: "tool_use", name: "a", input: { x: 1 } }] },
        call("a", { x: 1 }),
        {
          passed: true,
          score: 1,
        },
      ],
      [{}, '[{"name": "a"}]', '["a"]', { passed: true, score: 1 }],
      [{}, "a text", [], { passed: true, score: 1 }],
      [{}, { role: "user", name: "bob", content: "hi" }, [], { passed: true, score: 1 }],
    ],
  ],
])("%s", (className, rows) => {
  test.each(rows)("case %# with %j", async (parameters, output, expected, result) => {
    expect(await score(className, parameters, { output, expected })).toEqual(result);
  });
});

test("large integers that a double cannot tell apart are not the same", async () => {
  const scorerClass = scorerClassOf("ExactMatchScorer");
  const run = scorerClass!.open!({ ignore_case: false, ignore_whitespace: false });
  const compare = (output: string, expected: string) =>
    run(new Variables(new Map(Object.entries({ output, expected }))));
  expect(compare("9007199254740993", "9007199254740992")).toEqual({ passed: false });
  expect(compare('{"a":[1.0]}', '{"a":[1]}')).toEqual({ passed: true });
  expect(compare('{"a":1,"a":2}', '{"a":2}')).toEqual({ passed: true });
});

describe("what would take too long or too much is an error that names the limit", () => {
  const manyTexts = Array.from({ length: 1000 }, (_, index) => `${"x".repeat(500)}${index}`);

  /** Each definition checks the next one twice. */
  const definitions = Array.from({ length: 40 }, (_, index) => {
    const next = { $ref: `#/$defs/d${index + 1}` };
    return [`d${index}`, { allOf: [next, next] }] as const;
  });
  const bomb = { $ref: "#/$defs/d0", $defs: { ...Object.fromEntries(definitions), d40: {} } };

  test.each([
    ["RegexScorer", { pattern: "a" }, long, 0, /"output" is longer than 1000000 characters/],
    [
      "NumericToleranceScorer",
      { find: "last" },
      "12 ".repeat(500_000),
      1,
      /"output" is longer than 1000000 characters/,
    ],
    ["ContainsScorer", { values: manyTexts }, long, 0, /takes longer than 250 ms/],
    ["StringDistanceScorer", {}, long, "x", /"output" is longer than 10000 characters/],
    ["TokenSimilarityScorer", {}, "x", long, /"expected" is longer than 20000 characters/],
    ["ToolCallScorer", {}, Array(101).fill(call("a")), "a", /more than 100 calls of tools/],
    ["JsonSchemaScorer", { schema: { pattern: "^(a+)+$" } }, `"${"a".repeat(50)}b"`, 0, /takes longer than 250 ms/],
    ["JsonSchemaScorer", { schema: { $ref: "#" } }, "1", 0, /cannot be used|takes longer/],
    ["JsonSchemaScorer", { schema: { type: "number", ...bomb } }, "1", 0, /takes longer than 250 ms/],
  ])("%s, case %#", async (className, parameters, output, expected, text) => {
    const { code, message } = await failure(score(className, parameters, { output, expected }));
    expect(message).toMatch(text);
    expect(["too_large", "invalid"]).toContain(code);
  });

  test("and the next score is right", async () => {
    const slow = score(
      "RegexScorer",
      { pattern: "(.{0,1000})x(.{0,990})y(.{0,900})z$" },
      { output: "axay".repeat(200_000) },
    );
    await slow.catch(() => {});
    expect(await score("RegexScorer", { pattern: "b+" }, { output: "abbc" })).toEqual({ passed: true, match: "bb" });
  });
});

test.each([
  ["RegexScorer", {}, /required property "pattern"/],
  ["RegexScorer", { pattern: "(" }, /pattern is not a regular expression of RE2: .*missing closing \)/],
  ["RegexScorer", { pattern: "(a)\\1" }, /not a regular expression of RE2/],
  ["RegexScorer", { pattern: "(?=a)" }, /not a regular expression of RE2/],
  ["RegexScorer", { pattern: `${"(".repeat(400)}${"a{1000}".repeat(50)}` }, /not a regular expression of RE2/],
  ["RegexScorer", { pattern: "x".repeat(1001) }, /pattern: .*1001/],
  ["RegexScorer", { pattern: "a", flags: "g" }, /"flags" is not a member of RegexScorer. It has: pattern, ignore_case/],
  ["ExactMatchScorer", { ignore_case: "yes" }, /ignore_case: .*"string" is invalid/],
  ["ContainsScorer", { require: "most" }, /require: .*does not match any of/],
  ["ContainsScorer", { values: [""] }, /values.0: /],
  ["StringDistanceScorer", { threshold: 2 }, /threshold: /],
  ["NumericToleranceScorer", { absolute: -1 }, /absolute: /],
  ["JsonSchemaScorer", { schema: { $ref: "https://example.com/schema" } }, /schema: cannot be used: .*nresolved/],
  ["JsonSchemaScorer", { schema: { enum: ["x".repeat(70_000)] } }, /schema: must be an object of at most 65536 bytes/],
  ["JsonSchemaScorer", { schema: [] }, /schema: Instance type "array" is invalid/],
  ["ExactMatchScorer", { column_map: { expected: 1 } }, /column_map.expected: /],
  ["ExactMatchScorer", { name: 1 }, /name: /],
  ["LLMAsAJudgeScorer", { model: "weave:///a/b/object/c:d" }, /scoring_prompt or scoring_prompt_ref is required/],
  ["LLMAsAJudgeScorer", { scoring_prompt: "good?", model: {} }, /model: .*"llm_model_id"/],
  ["LLMAsAJudgeScorer", { scoring_prompt: "good?" }, /required property "model"/],
])("%s, case %#, names the member and the reason", async (className, parameters, text) => {
  const { code, message } = await failure(score(className, parameters, { output: "" }));
  expect([code, message]).toEqual(["invalid", expect.stringMatching(text)]);
});

test.each([
  [
    "ExactMatchScorer",
    {},
    { output: 1, answer: 2 },
    /needs "expected", which the row does not have. It has: "output", "answer"/,
  ],
  ["ContainsScorer", {}, { output: "", expected: [] }, /"expected" must be a text or a list of 1 to 1000 texts/],
  ["NumericToleranceScorer", {}, { output: 1, expected: "many" }, /"expected" must be a number/],
  ["ToolCallScorer", {}, { output: 1, expected: { tool: "a" } }, /"expected" must be calls of tools/],
])("%s says what it needs of the row (%#)", async (className, parameters, values, text) => {
  const { code, message } = await failure(score(className, parameters, values));
  expect([code, message]).toEqual(["invalid", expect.stringMatching(text)]);
});

test("SDKs write null for what is not set", async () => {
  const sent = { name: null, column_map: null, ignore_case: null, _type: "X", score: null, summarize: null };
  expect(await score("ExactMatchScorer", sent, { output: 1, expected: 1 })).toEqual({ passed: true });
});

test("every class can be created by its name, as a scorer", () => {
  for (const { name } of scorerClasses) {
    expect(asBuiltinClass("{}", name)).toContain('"_bases":["Scorer","Object","BaseModel"]');
  }
});
