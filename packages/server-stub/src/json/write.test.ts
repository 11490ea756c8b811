import * as fc from "fast-check";
import { expect, test } from "vitest";
import { writeJson, writeJsonPieces } from "./write.js";
import { rawJson } from "./raw-json.js";

test("responses are written as JSON.stringify would", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => writeJson(value) === JSON.stringify(value)));
  const odd = { a: undefined, b: NaN, c: [undefined], d: new Date(0), e: '\ud800\u2028"\\\n', ["__proto__"]: 1, f: -0 };
  expect(writeJson(odd)).toBe(JSON.stringify(odd));
});

test("free JSON is written as it is, a bigint as its digits", () => {
  const value = { text: rawJson('{"n": 1.0,\n"n":NaN}'), list: [rawJson("18446744073709551616")], us: 2n ** 64n };
  expect(writeJson(value)).toBe(
    '{"text":{"n": 1.0,\n"n":NaN},"list":[18446744073709551616],"us":18446744073709551616}',
  );
});

const textOf = (pieces: readonly unknown[]) => pieces.filter((piece) => typeof piece === "string").join("");

test("the pieces of a document are its text", () => {
  const long = fc.string({ minLength: 10 }).map((text) => rawJson(JSON.stringify(text.repeat(10_000))));
  const document = fc.array(fc.oneof(fc.jsonValue(), long), { maxLength: 5 });
  fc.assert(
    fc.property(document, (value) => textOf(writeJsonPieces(value, Infinity)) === writeJson(value)),
    { numRuns: 50 },
  );
  expect(writeJsonPieces("", Infinity)).toEqual(['""']);
});
