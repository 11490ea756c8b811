import { expect, test } from "vitest";
import { jsonLines } from "./json-lines.js";
import { withMiddles } from "./middles.js";
import { changedParts, lineDiff } from "./line-diff.js";

test("JSON is laid out without changing a digit, a key or their order", () => {
  const text = '{"b":1.0,"a":[107505301260286111,{}, [ ]],"b":"x\\"},{","c":1E300}';
  const { lines, isComplete } = jsonLines(text);
  expect(lines).toEqual([
    "{",
    '  "b": 1.0,',
    '  "a": [',
    "    107505301260286111,",
    "    {},",
    "    []",
    "  ],",
    '  "b": "x\\"},{",',
    '  "c": 1E300',
    "}",
  ]);
  expect(isComplete).toBe(true);
  // A text has its lines, also behind a backslash of its own; each is as it was sent.
  const said = '{"a":"x\\ny\\\\n\\\\\\nz\\n"}';
  expect(jsonLines(said).lines).toEqual(["{", '  "a": "x\\n', "    y\\\\n\\\\\\n", '    z\\n"', "}"]);
  expect(jsonLines(`"${"\\\\".repeat(200_000)}n"`).lines).toHaveLength(1);
  expect(jsonLines("[".repeat(100_000), 50)).toMatchObject({ isComplete: false });
});

const marks = { same: " ", removed: "-", added: "+" };
const rendered = (before: string, after: string, most?: number) =>
  lineDiff(Array.from(before), Array.from(after), most).map(({ kind, text }) => marks[kind] + text);

test("a difference has the fewest lines, and makes the one of the other", () => {
  expect(rendered("abc", "abc")).toEqual([" a", " b", " c"]);
  expect(rendered("", "ab")).toEqual(["+a", "+b"]);
  expect(rendered("abcabba", "cbabac").filter((line) => !line.startsWith(" "))).toHaveLength(5);
  // Of any two texts.
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let round = 0; round < 300; round++) {
    const [before, after] = [0, 1].map(() => Array.from({ length: random(12) }, () => "abc"[random(3)] ?? ""));
    const lines = lineDiff(before ?? [], after ?? []);
    expect(lines.filter(({ kind }) => kind !== "added").map(({ text }) => text)).toEqual(before);
    expect(lines.filter(({ kind }) => kind !== "removed").map(({ text }) => text)).toEqual(after);
  }
});

test("what differs by too much is replaced as a whole", () => {
  expect(rendered("xabcdy", "xefghy", 3)).toEqual([" x", "-a", "-b", "-c", "-d", "+e", "+f", "+g", "+h", " y"]);
});

test("lines that are alike are left out, some around each change", () => {
  const lines = lineDiff(Array.from("0123456789abcdef"), Array.from("0123X56789abcdeY"));
  const parts = changedParts(lines, 1).map(({ skipped, lines: part }) => [
    skipped,
    part.map(({ kind, text }) => marks[kind] + text).join(""),
  ]);
  expect(parts).toEqual([
    [3, " 3-4+X 5"],
    [8, " e-f+Y"],
  ]);
  expect(changedParts(lineDiff(["a"], ["a"]))).toEqual([]);
});

test("in a line that became another, what differs is found, and no character is cut in two", () => {
  const middles = (before: string[], after: string[]) =>
    withMiddles(lineDiff(before, after)).map(({ text, from, to }) => text.slice(from, to));
  expect(middles(['"n": 1.0,'], ['"n": 1,'])).toEqual([".0", ""]);
  expect(middles(["abcabc"], ["abcabcabc"])).toEqual(["", "abc"]);
  expect(middles(["say 😀!"], ["say 😁!"])).toEqual(["😀", "😁"]);
  // All of it, or of lines that are more than they were.
  expect(middles(["abcdef"], ["uvwxyz"])).toEqual(["", ""]);
  expect(middles(["one line"], ["one", "line"])).toEqual(["", "", ""]);
});
