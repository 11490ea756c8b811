import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readable, storable } from "./storable.js";

describe("texts the store's JSON functions cannot read", () => {
  test.each([
    ["a lone surrogate", '{"a":"x\\ud800y","b":1}', '{"a":"x\ufffdy","b":1}'],
    ["a low surrogate in a key", '{"\\udc00":1}', '{"\ufffd":1}'],
    ["two high surrogates", '["\\ud83d\\ud83d\\ude00"]', '["\ufffd😀"]'],
    ["2^64", "[18446744073709551616]", "[1.8446744073709552e+19]"],
    ["-2^63 - 1", "[-9223372036854775809]", "[-9.223372036854776e+18]"],
    ["numbers beyond double", '{"a":1e400,"b":-1e400}', '{"a":1.7976931348623157e+308,"b":-1.7976931348623157e+308}'],
    ["an integer of 400 digits", `[${"9".repeat(400)}]`, "[1.7976931348623157e+308]"],
  ])("%s keeps its exact text aside", (_, text, safe) => {
    const stored = storable(text);
    expect(stored).toEqual({ text: safe, exact: text });
    expect(readable(stored.text, stored.exact)).toBe(text);
  });

  test("bare NaN and infinities become null, also in what is returned", () => {
    expect(storable('{"a":NaN,"b":[Infinity,-Infinity],"NaN":"NaN"}')).toEqual({
      text: '{"a":null,"b":[null,null],"NaN":"NaN"}',
    });
    expect(storable('[NaN,"\\ud800"]')).toEqual({ text: '[null,"\ufffd"]', exact: '[null,"\\ud800"]' });
  });

  test.each([
    ['{"a": 1.0, "a" : [ ] }', '{"a" : [ ] }'],
    ['{"a":{"b":1,"b":2},"c":"a","a":[{"d":1,"e":2,"d":3}]}', '{"c":"a","a":[{"e":2,"d":3}]}'],
    ['{"\\u0061":1, "a":2,"a":3}', '{"a":3}'],
    [
      `{${"abcdefghijkl"
        .split("")
        .map((key) => `"${key}":0`)
        .join(",")},"c":1,"l":2}`,
      '{"a":0,"b":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"c":1,"l":2}',
    ],
  ])("of repeated keys only the last is in the query-safe text of %s", (text, safe) => {
    expect(storable(text)).toEqual({ text: safe, exact: text });
    expect(JSON.parse(safe)).toEqual(JSON.parse(text));
  });

  test("repeated keys in any object leave what a reader sees", () => {
    const key = fc.constantFrom('"a"', '"b"', '"\\u0061"', '"c"');
    const { value } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom("1", '"a"', "{}", "[]", '":,{"'),
        fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
        fc
          .array(fc.tuple(key, tie("value")), { maxLength: 12 })
          .map((members) => `{ ${members.map(([name, inner]) => `${name} :${inner}`).join(",")}}`),
      ),
    }));
    fc.assert(
      fc.property(value, (text) => {
        const safe = storable(text).text;
        expect(JSON.parse(safe)).toEqual(JSON.parse(text));
        expect(storable(safe)).toEqual({ text: safe });
      }),
    );
  });

  test("very deep nesting is cut in the query-safe text only", () => {
    const deep = `{"a":${"[".repeat(600)}"\\ud800",1e400,NaN${"]".repeat(600)},"b":1}`;
    const stored = storable(deep);
    expect(stored.text).toBe(`{"a":${"[".repeat(499)}null${"]".repeat(499)},"b":1}`);
    expect(stored.exact).toBe(deep.replace("NaN", "null"));
  });
});

describe("texts that stay as they are", () => {
  test.each([
    ["18446744073709551615"],
    ["-9223372036854775808"],
    ["1e308"],
    ["1e-400"],
    ["0e999"],
    ['"\\ud83d\\ude00"'],
    ['"the text \\\\ud800, 12345678901234567890123 and 1e999"'],
    ['{"a": 1.0, "b" : [ {"a":1}, {"a":1} ], "c": {"a":"a"} }'],
    [`${"[".repeat(500)}${"]".repeat(500)}`],
    ['"[[[[[[[[[["'],
    ['{"span_id":"81e1234567890123456"}'],
  ])("%s", (text) => {
    expect(storable(text)).toEqual({ text });
    expect(readable(text, "")).toBe(text);
  });

  test("every ordinary value", () => {
    const ordinary = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.boolean()));
    fc.assert(
      fc.property(ordinary, (value) => {
        const json = JSON.stringify(value);
        fc.pre(!/\d{19}/.test(json));
        expect(storable(json)).toEqual({ text: json });
      }),
    );
  });
});

test("a long text of exponents takes no longer than another", () => {
  const text = `"${"e999".repeat(500_000)}"`;
  expect(storable(text)).toEqual({ text });
});

test("large numbers are found wherever they are", () => {
  const large = fc.constantFrom("1e400", "-1E+0400", "18446744073709551616", "-9223372036854775809");
  const around = fc.array(fc.constantFrom("1", "23", "456", "0.5", '"e"', '"12"', '"4e812"', "[]"), { maxLength: 8 });
  fc.assert(
    fc.property(around, large, around, fc.constantFrom(",", " , ", ",\n"), (before, number, after, comma) => {
      const text = `[${[...before, number, ...after].join(comma)}]`;
      expect(storable(text).exact).toBe(text);
      expect(storable(`{"a":${number}}`).exact).toBe(`{"a":${number}}`);
      expect(storable(number).exact).toBe(number);
    }),
  );
});

const number = fc.oneof(
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.constantFrom("1e400", "-2.5E+999", "NaN", "Infinity", "-Infinity", "1.50", "-0.0", "1e-9"),
);
const string = fc
  .array(fc.constantFrom("\\ud83d", "\\uDE00", "😀", "\\\\", '\\"', "NaN", "{", "]", "1e999", "x"))
  .map((parts) => `"${parts.join("")}"`);
const document = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    number,
    string,
    fc.array(tie("value")).map((items) => `[ ${items.join(" ,")}]`),
    fc
      .array(fc.tuple(string, tie("value")))
      .map((entries) => `{${entries.map(([key, value]) => `${key} : ${value}`).join(",")} }`),
  ),
})).value;

test("any text ends up readable for the store, and its exact text is kept but for bare NaN and infinities", () => {
  fc.assert(
    fc.property(document, (text) => {
      const stored = storable(text);
      const strings: string[] = [];
      const collect = (key: string, value: unknown) => {
        strings.push(key, String(value));
        return value;
      };
      JSON.parse(stored.text, collect);
      expect(strings.join(" ")).not.toMatch(/\p{Surrogate}/u);
      expect(stored.text.replace(/"(?:[^"\\]|\\.)*"/g, "")).not.toMatch(/\d{21}/);
      const bare = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;
      const returned = text.replace(bare, (token) => (token.startsWith('"') ? token : "null"));
      expect(readable(stored.text, stored.exact)).toBe(returned);
      expect(storable(stored.text)).toEqual({ text: stored.text });
    }),
    { numRuns: 200 },
  );
});
