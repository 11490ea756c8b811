import * as fc from "fast-check";
import { expect, test } from "vitest";
import { mergeLongWordsFast } from "./long-words.js";
import type { WordModel } from "./long-words.js";

type Pair = readonly [left: string, right: string];

/** A model of which only long words can be asked. */
function modelOf(merges: readonly Pair[], ends: Partial<WordModel> = {}): WordModel {
  const model: WordModel = {
    merges,
    ...ends,
    bpe() {
      throw new Error("the library was asked for a long word");
    },
  };
  mergeLongWordsFast(model);
  return model;
}

/** What byte-pair encoding says: merge the first of the pairs that come first in the list, until there is none. */
function merged(word: string, merges: readonly Pair[]): string[] {
  let tokens = Array.from(word);
  for (;;) {
    const pairs = tokens.slice(1).map((right, at) => ({ at, pair: [tokens[at]!, right] as const }));
    const ranked = pairs.map(({ at, pair: [left, right] }) => ({
      at,
      rank: merges.findIndex(([first, second]) => first === left && second === right),
    }));
    const [best] = ranked.filter(({ rank }) => rank >= 0).toSorted((a, b) => a.rank - b.rank || a.at - b.at);
    if (best === undefined) return tokens;
    const { at } = best;
    tokens = [...tokens.slice(0, at), `${tokens[at]}${tokens[at + 1]}`, ...tokens.slice(at + 2)];
  }
}

test("a long word has the tokens that the merges give in their order", () => {
  const part = fc.constantFrom("a", "b", "ab", "ba", "aa", "aab", "😀", "a😀");
  const merges = fc.uniqueArray(fc.tuple(part, part), { maxLength: 8, selector: (pair) => pair.join("+") });
  const piece = fc.constantFrom("a", "b", "ab", "😀", "é", "aaaa");
  const word = fc.array(piece, { minLength: 256, maxLength: 270 });
  fc.assert(
    fc.property(merges, word, (list, pieces) => {
      const text = pieces.join("");
      expect(modelOf(list).bpe(text)).toEqual(merged(text, list));
    }),
    { numRuns: 12 },
  );
});

test("the ends of words and of tokens are marked as in short words", () => {
  const merges: Pair[] = [
    ["a", "a"],
    ["b", "</w>"],
    ["aa", "b</w>"],
  ];
  const word = `${"a".repeat(300)}b`;
  expect(modelOf(merges, { end_of_word_suffix: "</w>" }).bpe(word).slice(-2)).toEqual(["aa", "aab</w>"]);
  expect(modelOf(merges, { continuing_subword_suffix: "@@" }).bpe(word).slice(-2)).toEqual(["aa@@", "b"]);
});

test("a word of a million letters is merged", () => {
  const merges = Array.from({ length: 10 }, (_, power): Pair => ["ab".repeat(2 ** power), "ab".repeat(2 ** power)]);
  const tokens = modelOf([["a", "b"], ...merges]).bpe("ab".repeat(500_000));
  expect(new Set(tokens.slice(0, -10))).toEqual(new Set(["ab".repeat(1024)]));
  expect(tokens.join("")).toBe("ab".repeat(500_000));
});
