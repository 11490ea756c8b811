import { expect, test } from "vitest";
import { beginningAt, childrenStep, jsonChildren, stringAt } from "./json-children.js";

const childrenOf = (text: string, skip?: number) =>
  jsonChildren(text, 0, text.length, skip).children.map(({ key, index, type, from, to }) => [
    key ?? index,
    type,
    text.slice(from, to),
  ]);

test("values are the exact text: numbers, order and duplicate keys", () => {
  expect(childrenOf('{"b": 1.0, "a": 107505301260286111, "b":1e300, "__proto__": null, "": [ ]}')).toEqual([
    ["b", "number", "1.0"],
    ["a", "number", "107505301260286111"],
    ["b", "number", "1e300"],
    ["__proto__", "null", "null"],
    ["", "array", "[ ]"],
  ]);
  expect(childrenOf('[NaN, "x", {"a": [1]}, true]')).toEqual([
    [0, "number", "NaN"],
    [1, "string", '"x"'],
    [2, "object", '{"a": [1]}'],
    [3, "boolean", "true"],
  ]);
  expect(childrenOf("{}")).toEqual([]);
});

test("places are those of the whole text, at any depth", () => {
  const text = '{"a": {"b": [10, 20]}}';
  const [a] = jsonChildren(text, 0, text.length).children;
  const [b] = jsonChildren(text, a!.from, a!.to).children;
  const items = jsonChildren(text, b!.from, b!.to).children;
  expect(items.map(({ from, to }) => text.slice(from, to))).toEqual(["10", "20"]);
});

test("many children come in steps, each once", () => {
  const text = JSON.stringify(Array.from({ length: 1200 }, (_, index) => index));
  const steps = [0, 500, 1000].map((skip) => jsonChildren(text, 0, text.length, skip));
  expect(steps.map(({ children, more }) => [children.length, more])).toEqual([
    [childrenStep, true],
    [childrenStep, true],
    [200, false],
  ]);
  expect(steps.flatMap(({ children }) => children.map(({ index }) => index))).toEqual(JSON.parse(text));
});

test("a list of 200,000 items and 10^5 levels are located without a stack", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  expect(jsonChildren(deep, 0, deep.length).children).toHaveLength(1);
});

test("strings are decoded, and a lone surrogate stays what was sent", () => {
  const decoded = (json: string) => stringAt(json, 0, json.length);
  expect(decoded('"a\\n\\u00e9"')).toBe("a\né");
  expect(decoded('"x\\ud800"')).toBe("x\\ud800");
});

test("the beginning of a string ends with a whole character, and reads no more of it", () => {
  const beginning = (value: string, characters: number) => {
    const json = JSON.stringify(value);
    return beginningAt(json, 0, json.length, characters);
  };
  expect(beginning('a\n"\\b', 10)).toEqual({ text: 'a\n"\\b', isAll: true });
  expect(beginning('a\n"\\b', 3)).toEqual({ text: 'a\n"', isAll: false });
  expect(beginning("ab😀cd", 3)).toEqual({ text: "ab😀", isAll: false });
  const escaped = String.raw`"ab\ud83d\ude00cd"`.replaceAll(String.raw`\\`, "\\");
  expect(beginningAt(escaped, 0, escaped.length, 3)).toEqual({ text: "ab😀", isAll: false });
  const long = `"${"x".repeat(100)}${"\\q".repeat(1_000_000)}"`;
  expect(beginningAt(long, 0, long.length, 100)).toEqual({ text: "x".repeat(100), isAll: false });
});
