import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linkPlans } from "./plan.js";
import type { Plan, PlanEntry } from "./plan.js";
import { JsonReader, readJson as readWhole } from "./read.js";
import type { JsonBody, ReadOptions } from "./read.js";
import { hasNoControlCharacters } from "./scan.js";
import { Malformed } from "./tokens.js";
import { ItemError } from "../problem.js";
import { RawJson } from "./raw-json.js";
import { SchemaViolation } from "../validation/schema-violation.js";

const entries: PlanEntry[] = [
  { properties: { raw: 1, any: 2, name: -1, must: -1, inner: 3, many: 4 }, keepNull: ["must", "any"], others: "drop" },
  { raw: ["object"] },
  { raw: [] },
  { properties: { size: -1 }, defaults: { size: 7, list: [] }, others: "keep" },
  { items: 1 },
];
const [plan] = linkPlans(entries, {});

/** Reads as the server does. The slower ways have to come to the same. */
function readJson(text: string, plan: Plan | undefined): unknown {
  const noControls = hasNoControlCharacters(new TextEncoder().encode(text));
  const whole = outcome(() => read(text, plan, { noControls }));
  if (noControls) expect(outcome(() => read(text, plan))).toEqual(whole);
  if (text.length < 1000) {
    for (const units of [1, 3]) expect(outcome(() => readInParts(text, plan, noControls, units))).toEqual(whole);
  }
  return read(text, plan, { noControls }).value;
}

function readInParts(text: string, plan: Plan | undefined, noControls: boolean, units: number): JsonBody {
  const reader = new JsonReader(text, plan, { noControls });
  // Each part is read once and at most once more, and comes to an end.
  for (let parts = 0; !reader.read(units); parts++) expect(parts).toBeLessThan(2 * text.length + 2);
  return partsOf(reader);
}

const partsOf = ({ value, mistakes, values }: JsonBody): JsonBody => ({ value, mistakes, values });

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return { error };
  }
}

const read = (text: string, plan: Plan | undefined, options?: ReadOptions): JsonBody =>
  partsOf(readWhole(text, plan, options));

/** Reads free JSON where any is allowed. */
function rawText(text: string): string {
  const { any } = readJson(`{"any": ${text} }`, plan) as { any: RawJson };
  return any.text;
}

describe("free JSON keeps its text", () => {
  test.each([
    ["1.0"],
    ["-0"],
    ["1e400"],
    ["18446744073709551616"],
    ["123456789012345678901234567890.10"],
    ['{"b": 1, "a":2,  "b":3}'],
    ['"\\ud800"'],
    ['"\\u0000 \\/ \\""'],
    ['{"__proto__": {"constructor": null}}'],
    ["NaN"],
    ["[NaN,Infinity, -Infinity]"],
    ["null"],
    ['{ "a" : [ ] , "b" : { } }'],
    ['"\u00e4\u{1f600}\u2028"'],
    [`${"[".repeat(200)}${"]".repeat(200)}`],
    [`${'{"a":'.repeat(199)}[]${"}".repeat(199)}`],
  ])("%s", (text) => {
    expect(rawText(text)).toBe(text);
  });

  test("without the space around it", () => {
    expect(rawText("\n\t [1 ] \r\n")).toBe("[1 ]");
  });

  test("without the space around it, however much there is", () => {
    const space = " \n\t\r".repeat(1000);
    expect(rawText(`${space}[${space}1]${space}`)).toBe(`[${space}1]`);
    expect(readJson(`${space}1${space}`, undefined)).toBe(1);
    expect(() => readJson(space, undefined)).toThrow(Malformed);
  });

  test("whatever JSON it is", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 1, "\t"), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        return rawText(text) === text;
      }),
    );
  });

  test("and gives its value on request, with null for what JSON does not have", () => {
    expect(new RawJson('{"a":[NaN,-Infinity,"NaN","\\"Infinity"]}').value).toEqual({
      a: [null, null, "NaN", '"Infinity'],
    });
    expect(JSON.stringify({ x: new RawJson("[1.0]") })).toBe('{"x":[1]}');
  });
});

describe("the rest is ordinary JSON", () => {
  test("read as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(readJson(json, undefined)).toEqual(JSON.parse(json));
      }),
    );
    expect(readJson(' {"a" : "\\ud83d\\ude00\\n", "a":[1.50, -0e1, true,false , null]} ', undefined)).toEqual({
      a: [1.5, -0, true, false, null],
    });
  });

  test("with null for bare NaN and Infinity", () => {
    expect(readJson('[NaN, Infinity, -Infinity, {"must":NaN}]', undefined)).toEqual([null, null, null, { must: null }]);
    expect(readJson('{"name":-Infinity,"must":NaN}', plan)).toEqual({ must: null });
  });

  test("a null of an optional key is dropped, also where a value was before it; that of a required key stays", () => {
    expect(readJson('{"name":"a","must":null,"raw":null,"inner":null,"name":null,"any":null}', plan)).toEqual({
      must: null,
      any: new RawJson("null"),
    });
  });

  test("defaults fill what is absent, each request with values of its own", () => {
    const [first, second] = [1, 2].map(
      () => readJson('{"inner":{"size":null}}', plan) as { inner: { list: unknown[] } },
    );
    first?.inner.list.push(1);
    expect([first, second]).toEqual([{ inner: { size: 7, list: [1] } }, { inner: { size: 7, list: [] } }]);
  });

  test("unknown keys are skipped where they mean nothing, but have to be JSON", () => {
    expect(readJson('{"surplus":{"a":[1,{"b":"]}"}]},"name":"a","inner":{"more":1,"size":2}}', plan)).toEqual({
      name: "a",
      inner: { more: 1, size: 2, list: [] },
    });
    expect(() => readJson('{"surplus":[1,}', plan)).toThrow(Malformed);
  });

  test("__proto__ is a key like any other", () => {
    const value = readJson('{"__proto__":{"polluted":1},"inner":{"__proto__":null}}', undefined) as object;
    expect(Object.keys(value)).toEqual(["__proto__", "inner"]);
    expect("polluted" in value).toBe(false);
    expect(readJson('{"inner":{"__proto__":[]}}', plan)).toEqual({ inner: { ["__proto__"]: [], size: 7, list: [] } });
  });
});

describe("what is not JSON is refused with its position", () => {
  test.each([
    ["", 0, "the end where a value should be"],
    ["  ", 2, "the end where a value should be"],
    ["{", 1, "no key where one should be"],
    ["[1,]", 3, "no JSON value"],
    ['{"a":1,}', 7, "no key where one should be"],
    ["{a:1}", 1, "no key where one should be"],
    ['{"a" 1}', 5, "a key without a colon"],
    ['{"a":1 "b":2}', 7, 'neither a comma nor "}"'],
    ["[1 2]", 3, 'neither a comma nor "]"'],
    ["[1}", 2, 'neither a comma nor "]"'],
    ["01", 0, "a number with a leading zero"],
    ["+1", 0, "no JSON value"],
    [".5", 0, "no JSON value"],
    ["-", 0, "no JSON value"],
    ["1.", 0, "a number without digits after its point"],
    ["1e+", 0, "a number without digits in its exponent"],
    ["tru", 0, "an unknown word"],
    ["Infinite", 0, "an unknown word"],
    ["'a'", 0, "no JSON value"],
    ['"a', 0, "a string that does not end"],
    ['"a\n"', 2, "a control character in a string"],
    ['"\\x"', 1, "an unknown escape in a string"],
    ['"\\u12g4"', 1, "a broken \\u escape"],
    ['"\\', 1, "an unknown escape in a string"],
    ["1 2", 2, "something after the end of the JSON value"],
    ["{}]", 2, "something after the end of the JSON value"],
  ])("%s", (text, position, message) => {
    const inside = `{"any":${text}`;
    expect(() => readJson(text, undefined)).toThrow(expect.objectContaining({ message, position }));
    if (!message.startsWith("something")) {
      expect(() => readJson(inside, plan)).toThrow(expect.objectContaining({ message, position: position + 7 }));
    }
  });

  test("integers that a number would round are bigints where the plan says so, and nowhere else", () => {
    const [exact] = linkPlans([{ exactIntegers: true }], {});
    const values = ["9007199254740991", "9007199254740993", "-9007199254740993", "1.5", "1e30", "1".repeat(40), "true"];
    expect(values.map((text) => read(text, exact).value)).toEqual([
      9007199254740991,
      9007199254740993n,
      -9007199254740993n,
      1.5,
      1e30,
      Number("1".repeat(40)),
      true,
    ]);
    expect(read("9007199254740993", undefined).value).toBe(9007199254740992);
    expect(read("[9007199254740993]", exact).value).toEqual([9007199254740992]);
  });

  test("everything that JSON.parse refuses, too", () => {
    const pieces = fc.array(fc.constantFrom(...'{}[],:"\\ \n0.-e1tfn'.split(""), "true", '"a"', "1"), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join("");
        const fine = accepts(() => JSON.parse(text));
        expect(accepts(() => readJson(text, undefined))).toBe(fine);
        expect(accepts(() => readJson(`{"any":${text}}`, plan))).toBe(accepts(() => JSON.parse(`{"any":${text}}`)));
      }),
      { numRuns: 3000 },
    );
  });
});

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

describe("nesting is limited", () => {
  test.each([201, 10_000, 1_000_000])(
    "free JSON of %i levels is too deep, and the error names its location",
    (levels) => {
      const detail = { loc: ["body", "any"], msg: "Nested deeper than 200 levels", type: "nested_too_deep" };
      expect(() => readJson(`{"any":${nested(levels)}}`, plan)).toThrow(
        expect.objectContaining({ name: "SchemaViolation", detail }),
      );
    },
  );

  test("so is ordinary JSON", () => {
    expect(readJson(nested(200), undefined)).toBeInstanceOf(Array);
    expect(() => readJson(nested(201), undefined)).toThrow(SchemaViolation);
    expect(() => readJson(nested(100_000), undefined)).toThrow(SchemaViolation);
  });

  test("free JSON counts from where it starts", () => {
    const text = `{"many":[{"a":${nested(199)}}]}`;
    expect(readJson(text, plan)).toEqual({ many: [new RawJson(`{"a":${nested(199)}}`)] });
  });
});

test("a list that is longer than its limit is too large, before the rest of it is read", () => {
  const [plan] = linkPlans([{ properties: { ids: 1 } }, { items: -1, maxItems: 2 }], {});
  expect(readJson('{"ids":["a","b"]}', plan)).toEqual({ ids: ["a", "b"] });
  const detail = { loc: ["body", "ids"], msg: "More than 2 items", type: "too_long" };
  expect(() => readJson('{"ids":["a","b","c", no JSON', plan)).toThrow(
    expect.objectContaining({ name: "SchemaViolation", detail }),
  );
});

test("a lenient list goes on after items that are wrong, wherever they are wrong", () => {
  const [lenient] = linkPlans(
    [
      { properties: { many: 1 } },
      { items: 2, lenient: "small" },
      { properties: { raw: 3, ids: 4, name: -1 }, defaults: { size: 1 }, others: "drop" },
      { raw: ["object"] },
      { items: -1, maxItems: 1 },
    ],
    { small: (value) => (value as { name?: unknown }).name !== "large" },
  );
  const deep = nested(201);
  const items = [
    '{"name":"a"}',
    '{"raw":1,"name":"b"}',
    `{"raw":{"a":${deep}}}`,
    '{"ids":[1,2],"more":{}}',
    '{"name":"large"}',
    `{"name":${deep}}`,
    '{"raw":{},"ids":[1]}',
  ];
  const { many } = readJson(`{"many":[${items.join(", ")}]}`, lenient) as { many: unknown[] };
  expect(many.map((item) => (item instanceof ItemError ? item.loc : item))).toEqual([
    { name: "a", size: 1 },
    ["body", "many", 1, "raw"],
    ["body", "many", 2, "raw"],
    ["body", "many", 3, "ids"],
    { name: "large", size: 1 },
    ["body", "many", 5, "name", ...Array.from({ length: 197 }, () => 0)],
    { raw: new RawJson("{}"), ids: [1], size: 1 },
  ]);
});

test("free JSON has the type its schema names", () => {
  const detail = { msg: "Not a valid object", type: "dict_type" };
  expect(read('{"many":[{},[],1],"raw":"text"}', plan).mistakes).toEqual([
    { loc: ["body", "many", 1], ...detail },
    { loc: ["body", "many", 2], ...detail },
    { loc: ["body", "raw"], ...detail },
  ]);
  expect(read(`{"many":[${"1,".repeat(1000)}1]}`, plan).mistakes).toHaveLength(10);
});

test("keys that are not known are kept for the refusal, unless they are null or false", () => {
  const [closed] = linkPlans([{ properties: { limit: -1 }, others: "refuse" }], {});
  expect(readJson('{"limt":5,"include_more":false,"columns":null,"all":true}', closed)).toEqual({ limt: 5, all: true });
});

test("a control character is found wherever it is", () => {
  const bytes = new TextEncoder().encode('{"a":"\u00e4\u{1f600}\u007f ~"}  ');
  expect(hasNoControlCharacters(bytes)).toBe(true);
  expect(hasNoControlCharacters(bytes.subarray(1, -1))).toBe(true);
  expect(hasNoControlCharacters(new Uint8Array())).toBe(true);
  for (let at = 0; at < bytes.length; at++) {
    for (const control of [0, 9, 10, 31])
      expect(hasNoControlCharacters(bytes.with(at, control)), `${control} at ${at}`).toBe(false);
  }
});

describe("a body has a bounded number of values", () => {
  const [, bounded] = linkPlans(
    [{ items: -1, maxItems: 100_000 }, { properties: { many: 0, any: -1, raw: 2 }, others: "keep" }, { raw: [] }],
    {},
  );
  const list = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(",")}]`;
  const tooMany = { detail: { msg: "The body has too many values", type: "too_many_values" }, name: "SchemaViolation" };

  test.each([
    ["objects", "{}"],
    ["texts", '""'],
    ["numbers", "1"],
    ["lists", "[]"],
  ])("of %s, whatever their bytes", (_what, item) => {
    expect(read(`{"any":${list(399_000, item)}}`, bounded).value).toMatchObject({ any: { length: 399_000 } });
    expect(outcome(() => read(`{"any":${list(400_001, item)}}`, bounded))).toMatchObject({ error: tooMany });
    expect(outcome(() => read(`{"other":${list(400_001, item)}}`, undefined))).toMatchObject({ error: tooMany });
  });

  test("more in a list that may be long, and any in free JSON", () => {
    const item = list(20, "1");
    expect(read(`{"many":${list(50_000, item)}}`, bounded).value).toMatchObject({ many: { length: 50_000 } });
    expect(outcome(() => read(`{"many":${list(100, list(5000, "1"))}}`, bounded))).toMatchObject({ error: tooMany });
    expect(read(`{"raw":${list(500_000, "1")}}`, bounded).value).toMatchObject({ raw: expect.any(RawJson) });
  });

  test("an item of a lenient list with too many ends the request", () => {
    const [lenient] = linkPlans([{ items: 1, maxItems: 10, lenient: "any" }, {}], { any: () => true });
    expect(outcome(() => read(`[${list(400_001, "1")},1]`, lenient))).toMatchObject({ error: tooMany });
  });
});
