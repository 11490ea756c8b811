import { expect, test } from "vitest";
import { findInJson, foundWithin, mostFound, piecesOf } from "./find-in-json.js";

test("words are found in keys and values, whatever their case and however they are escaped", () => {
  const text = String.raw`{"Gift":"a gift card","b":["GIFT",1.0],"c":"caf\u00e9 Café","d":"say \"gift\"\nnow"}`;
  const places = (words: string) => findInJson(text, words).map((at) => text.slice(at, at + 4));
  expect(places("gift")).toEqual(["Gift", "gift", "GIFT", "gift"]);
  expect(places("café")).toEqual([String.raw`caf\ `.trim(), "Café"]);
  expect(places('"gift"\n')).toEqual([String.raw`\"gi`]);
  expect(places("1.0")).toEqual(["1.0]"]);
  expect(places("1x0")).toEqual([]);
  expect(places("")).toEqual([]);
});

test("signs are themselves, and of a text that has nothing else the first places are kept", () => {
  expect(findInJson('"a.*(b"', ".*(")).toEqual([2]);
  expect(findInJson("x".repeat(5000), "x")).toHaveLength(mostFound);
});

test("a range has the places that begin in it", () => {
  expect(foundWithin([1, 5, 9], 2, 9)).toEqual([5]);
  expect(foundWithin([1, 5, 9], 5, 10)).toEqual([5, 9]);
  expect(foundWithin([1], 2, 9)).toEqual([]);
});

test("the words of a text are marked as they are written in it", () => {
  const marked = piecesOf("A gift, GIFT", "gift").filter(({ isFound }) => isFound);
  expect(marked.map(({ from, text }) => [from, text])).toEqual([
    [2, "gift"],
    [8, "GIFT"],
  ]);
  expect(piecesOf("a", "")).toEqual([{ from: 0, text: "a", isFound: false }]);
});
