import { expect, test } from "vitest";
import { parseSearch } from "../query/parse-search.js";
import { matchesInDocument, searchPattern } from "./find-matches.js";

const find = (text: string, document: string, most = 5) =>
  matchesInDocument(searchPattern(parseSearch({ text })), "inputs", document, most);

test("matches are where the texts read, whatever their escapes", () => {
  const document = String.raw`{"a.b": ["x", {"n": "one\n🧵 Two, zwÖlf \"two\""}], "two": 2.5, "none": null}`;
  expect(find("two", document)).toEqual([
    { path: "inputs.a\\.b.1.n", at: 6, length: 3 },
    { path: "inputs.a\\.b.1.n", at: 18, length: 3 },
    { path: "inputs.two", length: 3 },
  ]);
  expect(find("zwölf 2 null", document)).toEqual([
    { path: "inputs.a\\.b.1.n", at: 11, length: 5 },
    { path: "inputs.two", at: 0, length: 1 },
    { path: "inputs.none", at: 0, length: 4 },
  ]);
  expect(find('"🧵 two"', document)).toEqual([{ path: "inputs.a\\.b.1.n", at: 4, length: 5 }]);
});

test("a document is looked through as far as it goes, and no further than needed", () => {
  expect(find("x", '{"a":["x","y", {"b":"x", "c":"x cut of')).toEqual([
    { path: "inputs.a.0", at: 0, length: 1 },
    { path: "inputs.a.2.b", at: 0, length: 1 },
  ]);
  expect(find("x", `[${"[".repeat(300)}`)).toEqual([]);
  expect(find("x", JSON.stringify(Array.from({ length: 100 }, () => "x x x")))).toHaveLength(5);
  expect(find("x", '"x"')).toEqual([{ path: "inputs", at: 0, length: 1 }]);
  expect(find("x", "not json } ] x , :")).toEqual([{ path: "inputs", at: 0, length: 1 }]);
});

test("what a regular expression or LIKE would read is text", () => {
  expect(find('"a.*b" "[x" "50%"', '{"t":"a.*b [x 50% axxb"}')).toEqual([
    { path: "inputs.t", at: 0, length: 4 },
    { path: "inputs.t", at: 5, length: 2 },
    { path: "inputs.t", at: 8, length: 3 },
  ]);
});

test("every mark can be looked for", () => {
  const marks = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).filter(
    (mark) => !/["\\\w]/.test(mark),
  );
  for (const mark of marks) {
    const text = `${mark}${mark}`;
    expect(find(`"${text}"`, JSON.stringify({ t: `a${text}` }))).toEqual([{ path: "inputs.t", at: 1, length: 2 }]);
    expect(find(`a ${text}`, "[1]")).toEqual([]);
  }
});
