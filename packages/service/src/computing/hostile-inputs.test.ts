import { afterAll, describe, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { scorerClasses } from "../scorers/scorer-classes.js";
import { Computing, endComputing } from "./computing.js";

type Hostile = [name: string, parameters: object, output: unknown, expected?: unknown];

const deep = (value: string, depth = 190) => `${"[".repeat(depth)}${value}${"]".repeat(depth)}`;
const words = (length: number) => Array.from({ length }, (_, index) => "abcdefgh"[index % 7]).join(" ");
const periodic = `${"a".repeat(2000)}b${"a".repeat(2000)}`;
const definitions = Array.from({ length: 40 }, (_, index) => {
  const next = { $ref: `#/$defs/d${index + 1}` };
  return [`d${index}`, { allOf: [next, next] }] as const;
});
const toolCalls = Array.from({ length: 100 }, (_, index) => ({
  name: "a",
  arguments: { list: Array.from({ length: 5000 }, (_, item) => ({ item })), index },
}));

/** What takes each class the longest. A class that is added has to say it, too. */
const inputs: Record<string, Hostile[]> = {
  LLMAsAJudgeScorer: [
    ["a path many times", { scoring_prompt: "{output.z}".repeat(90_000) }, { y: "y".repeat(4_000_000), z: 1 }],
    [
      "many paths",
      { scoring_prompt: Array.from({ length: 20_000 }, (_, at) => `{output.${at}}`).join("") },
      Array.from({ length: 20_000 }, (_, at) => `${at}`.repeat(50)),
    ],
    ["braces", { scoring_prompt: `${"{a.".repeat(300_000)}{{` }, 1],
    ["a long fill", { scoring_prompt: "{output}".repeat(9) }, "x".repeat(1_000_000)],
  ],
  GroupRankingScorer: [
    ["a long answer", {}, "x".repeat(4_000_000)],
    ["many messages in common", {}, Array.from({ length: 40_000 }, (_, at) => ({ role: "user", content: `${at}` }))],
    ["a nested answer", {}, JSON.parse(deep(`"${"x".repeat(20_000)}"`))],
  ],
  ExactMatchScorer: [
    ["nested", {}, JSON.parse(deep(`"${"x".repeat(1_000_000)}"`)), JSON.parse(deep(`"${"x".repeat(999_999)}y"`))],
    ["white space", { ignore_whitespace: true }, `a${" ".repeat(4_000_000)}b`, "a b"],
    ["white space in turns", { ignore_whitespace: true }, "a \n".repeat(1_000_000), "a"],
  ],
  ContainsScorer: [
    [
      "many texts",
      { values: Array.from({ length: 1000 }, (_, at) => `${"x".repeat(500)}${at}`) },
      "x".repeat(4_000_000),
    ],
    ["a periodic text", { values: [periodic] }, "a".repeat(4_000_000)],
    ["half of a periodic text", { values: [`b${"a".repeat(1_000_000)}`] }, "a".repeat(4_000_000)],
  ],
  RegexScorer: [
    ["a large pattern", { pattern: "(.{0,1000})x(.{0,990})y(.{0,900})z$" }, "axay".repeat(200_000)],
    ["nested repetition", { pattern: "^(a+)+$" }, `${"a".repeat(999_999)}b`],
    ["alternatives", { pattern: `(${"a?".repeat(300)}${"a".repeat(300)})*$`, full_match: true }, "a".repeat(500_000)],
  ],
  JsonValidityScorer: [
    ["brackets", {}, "[".repeat(4_000_000)],
    ["backslashes", {}, `"${"\\".repeat(4_000_000)}"`],
    ["nested text", {}, deep(`"${"[".repeat(2_000_000)}"`, 199)],
  ],
  JsonSchemaScorer: [
    ["a pattern", { schema: { pattern: "^(a+)+$" } }, `"${"a".repeat(50)}b"`],
    [
      "refs that double",
      { schema: { $ref: "#/$defs/d0", $defs: { ...Object.fromEntries(definitions), d40: {} } } },
      "1",
    ],
    ["a ref to itself", { schema: { $ref: "#" } }, "1"],
    ["unique items", { schema: { uniqueItems: true } }, Array.from({ length: 30_000 }, (_, item) => ({ item }))],
  ],
  NumericToleranceScorer: [
    ["digits", { find: "last" }, `${"1".repeat(200_000)}x`, 1],
    ["only digits, then a letter", {}, `${"1".repeat(200_000)}x`, 1],
    ["an expected number of digits", {}, 1, `${"1".repeat(200_000)}x`],
    ["digits and points", { find: "last" }, "1.".repeat(400_000), 1],
    ["exponents", { find: "first" }, "1e".repeat(400_000), 1],
    ["signs", { find: "last" }, "+-".repeat(400_000), 1],
    ["white space", {}, `${" ".repeat(400_000)}x${" ".repeat(400_000)}`, 1],
  ],
  StringDistanceScorer: [
    ["as long as may be", {}, words(5000), words(4999).replaceAll("a", "z")],
    ["longer in lower case", { ignore_case: true }, "İ".repeat(10_000), "i".repeat(10_000)],
  ],
  TokenSimilarityScorer: [
    ["one-letter words", { measure: "rouge_l" }, words(10_000), words(9999).replaceAll("a", "z")],
    ["marks in the wrong order", {}, `a${"\u0316\u0301".repeat(9999)}`, "a"],
    ["letters that become words", {}, "\uFDFA".repeat(20_000), "a"],
  ],
  ToolCallScorer: [
    ["long arguments", {}, toolCalls, toolCalls.toReversed()],
    ["parts of long arguments", { arguments: "subset" }, toolCalls, toolCalls.toReversed()],
  ],
};

const attacker = new Computing({ key: "mallory", entity: "rival" });
const neighbour = new Computing({ key: "alice", entity: "acme" });
const model = { template: "[]", parameters: "{}" };

async function score(className: string, parameters: Record<string, unknown>, scored: { output: string; row: string }) {
  const judged = { ...scored, inputs: "{}" };
  if (className === "LLMAsAJudgeScorer") {
    const prompt = JSON.stringify([{ role: "user", content: parameters["scoring_prompt"] }]);
    const question = { ...model, prompt, responseFormat: undefined, columnMap: {}, scored: judged };
    return attacker.run("fillJudgeRequest", question);
  }
  if (className === "GroupRankingScorer") {
    const inputs = `{"messages":${Array.isArray(JSON.parse(judged.output)) ? judged.output : "[]"}}`;
    const members = Array.from({ length: 32 }, (_, at) => ({ label: `${at}`, inputs, output: judged.output }));
    return attacker.run("fillRankingRequest", { ...model, members, rubric: "Which is best?" });
  }
  const { settings } = await attacker.run("checkedScorer", { className, val: JSON.stringify(parameters) });
  return attacker.run("computeScore", { className, settings, scored: judged });
}

/** The longest time that the event loop needed for something else. */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  const state = { longest: 0, last: performance.now() };
  const timer = setInterval(() => {
    const now = performance.now();
    state.longest = Math.max(state.longest, now - state.last);
    state.last = now;
  }, 5);
  await work.finally(() => clearInterval(timer));
  return Math.max(state.longest, performance.now() - state.last);
}

afterAll(endComputing);

test("every class has hostile inputs", () => {
  expect(Object.keys(inputs).toSorted()).toEqual(scorerClasses.map(({ name }) => name).toSorted());
});

describe.each(Object.entries(inputs))("%s", (className, rows) => {
  test.each(rows)(
    "%s: is scored or refused in time, and nobody else waits",
    async (_, parameters, output, expected) => {
      const scored = { output: JSON.stringify(output), row: JSON.stringify({ expected: expected ?? null }) };
      const began = performance.now();
      const outcome = score(className, parameters as Record<string, unknown>, scored).then(
        () => "scored",
        (error: unknown) => (error instanceof HeddleError ? error.code : error),
      );
      const others = (async () => {
        for (let index = 0; index < 3; index++) {
          expect(await neighbour.run("schemaFault", { schema: "{}", value: `${index}` })).toBeUndefined();
        }
      })();
      expect(await longestTurn(Promise.all([outcome, others]))).toBeLessThan(3000);
      expect(["scored", "too_large", "invalid"]).toContain(await outcome);
      // A score or a check has 2 seconds; threads have to start.
      expect(performance.now() - began).toBeLessThan(15_000);
    },
  );
});
