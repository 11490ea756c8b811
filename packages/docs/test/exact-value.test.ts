import { expect, test } from "vitest";
import { exactText, readExact, rowsOf } from "../browser/exact-value.js";

test("values keep the text that was sent: digits, fractions, escapes, members that are twice there", () => {
  const text = '{"n": 107505301260286111, "f": 1.0, "s": "a\\u00e9,]", "n": [], "o": {}, "l": [1, [2, "}"]]}';
  expect(exactText(readExact(text)!)).toBe(text);
});

test("what is no JSON is no value", () => {
  for (const text of ["", "{", "no", '{"a":1}x', "[1,]"]) expect(readExact(text), text).toBeUndefined();
});

test("rows are the objects of a list, or of the first list of objects in an object", () => {
  const count = (text: string) => rowsOf(readExact(text)!)?.length;
  expect(count('[{"a":1},{"b":2}]')).toBe(2);
  expect(count('{"ids":[1],"calls":[{"a":1}]}')).toBe(1);
  for (const text of ["[]", "[1]", "{}", '"x"', '{"calls":[]}']) expect(count(text), text).toBeUndefined();
});
