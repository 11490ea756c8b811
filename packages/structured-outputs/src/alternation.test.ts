import { afterAll, expect, test } from "vitest";
import { allowedTokens, seededRandom } from "../test/random-walk.js";
import { testVocabulary } from "../test/constraint-vocabulary.js";
import { openConstraints } from "./constraints.js";
import type { StructuredOutput } from "./structured-output.js";

const vocabulary = testVocabulary([]);
const constraints = openConstraints(vocabulary);
afterAll(() => constraints.close());

/** Follows every text, and returns what is allowed anywhere on the way and continues none of them. */
async function others(output: StructuredOutput, texts: readonly string[]): Promise<string[]> {
  const beginnings = new Set(
    texts.flatMap((text) => Array.from({ length: text.length + 1 }, (_, n) => text.slice(0, n))),
  );
  const found: string[] = [];
  for (const beginning of beginnings) {
    const session = await constraints.compile(output);
    for (const byte of Buffer.from(beginning)) session.accept(byte);
    const { mask } = await session.next();
    session.close();
    const allowed = allowedTokens(mask);
    expect([beginning, allowed.includes(vocabulary.end)]).toEqual([beginning, texts.includes(beginning)]);
    const next = allowed
      .filter((token) => token !== vocabulary.end)
      .map((token) => beginning + String.fromCharCode(token));
    found.push(...next.filter((text) => !beginnings.has(text)));
  }
  return found;
}

const random = seededRandom(4);
const lists: Record<string, (string | number)[]> = {
  "one and its beginning": ["cbbb", "cbb"],
  "ends that are alike": ["cab", "bc", "cac", "aa", "cbb", "cba"],
  "none of it": ["", "a", "aab", "abab"],
  "signs and letters": ['"', '"\\', "\n\n", "\n", "1-2", "1-22"],
  numbers: Array.from({ length: 60 }, (_, index) => index * 2.5),
  words: Array.from({ length: 40 }, () =>
    Array.from({ length: 1 + Math.floor(random() * 5) }, () => "abc"[Math.floor(random() * 3)]).join(""),
  ),
};

test.each(Object.entries(lists))(
  "only a text of the list is written, whatever they have in common: %s",
  async (_, list) => {
    const texts = [...new Set(list.map(String))];
    expect(await others({ type: "choice", choices: texts }, texts)).toEqual([]);
    const written = texts.map((text) => text.replaceAll(/[^a-z0-9]/g, String.raw`\$&`).replaceAll("\n", "n"));
    expect(await others({ type: "regex", regex: written.join("|") }, texts)).toEqual([]);
    const json = [...new Set(list)].map((value) => JSON.stringify(value));
    expect(await others({ type: "json_schema", schema: { enum: list } }, json)).toEqual([]);
    const anyOf = list.map((value) => ({ const: value }));
    expect(await others({ type: "json_schema", schema: { anyOf } }, json)).toEqual([]);
  },
);

test("alternatives of a pattern may have a beginning in common", async () => {
  const texts = ["cat", "cax", "cb", "cbb", "aa", "aab"];
  expect(await others({ type: "regex", regex: "ca[tx]|cb(b|)|aa|aab" }, texts)).toEqual([]);
});

test("alternatives of a pattern may begin with the same class", async () => {
  const ends = ["cbc", "acca", "bbba", "", "bab", "cc"];
  const texts = ["x", "y"].flatMap((first) => ends.map((end) => first + end));
  expect(await others({ type: "regex", regex: ends.map((end) => `[xy]${end}`).join("|") }, texts)).toEqual([]);
});

test("each choice may be the beginning of the next", async () => {
  const choices = Array.from({ length: 150 }, (_, length) => "a".repeat(length + 1));
  const session = await constraints.compile({ type: "choice", choices });
  for (let length = 0; length < 150; length++) session.accept(97);
  expect(await session.next()).toMatchObject({ onlyEos: true });
  session.close();
});
