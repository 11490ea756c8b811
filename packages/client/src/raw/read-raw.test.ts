import { expect, test } from "vitest";
import { RawJson } from "./raw-json.js";
import { readRaw } from "./read-raw.js";

const plans = [
  { properties: { call: 1, calls: 3, "a b": 2, __proto__x: 2 } },
  { properties: { inputs: 2 }, others: 4 },
  { raw: true },
  { items: 1 },
  { properties: { free: 2 } },
] as const;
const read = (text: string) => readRaw(text, plans[0], plans);

test("free JSON is its text, and the rest is parsed", () => {
  const inputs = '{ "n": 107505301260286111, "one" : 1.0,"n":2, "s": "a\\"}\\\\" }';
  const text = ` { "id" : "x\\u00e9", "call": {"inputs":${inputs}, "n": 1.0 , "other": {"free": 1e400}},"a b":null,"calls":[ ] }\n`;
  const found = read(text) as { call: { inputs: RawJson; other: { free: RawJson } }; "a b": RawJson };
  expect(found).toMatchObject({ id: "xé", call: { n: 1 }, calls: [] });
  expect(found.call.inputs.text).toBe(inputs);
  expect(found.call.inputs.value).toEqual({ n: 2, one: 1, s: 'a"}\\' });
  expect(found.call.inputs.value).toBe(found.call.inputs.value);
  expect(found.call.other.free.text).toBe("1e400");
  expect(found["a b"].text).toBe("null");
  expect(JSON.parse(JSON.stringify(found))).toMatchObject({ call: { inputs: { n: 2 } }, "a b": null });
});

test.each(["0", '"x"', "true", "null", "[]", "{}", "[1,[2]]", '{"call":1}', '{"calls":{"a":1}}', '{"call":[1,2]}'])(
  "what does not have the expected shape is parsed as it is: %s",
  (text) => expect(read(text)).toEqual(JSON.parse(text)),
);

test("members of any name are members", () => {
  const found = read('{"__proto__":{"polluted":1},"constructor":2,"call":{"__proto__":{"free":3}}}');
  expect(Object.keys(found as object)).toEqual(["__proto__", "constructor", "call"]);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  const { call } = found as { call: object };
  expect(Object.getOwnPropertyDescriptor(call, "__proto__")?.value).toEqual({ free: new RawJson("3") });
});

test.each([
  "",
  "{",
  '{"call":',
  '{"call":}',
  '{"call":{"inputs":}}',
  '{"call":{"inputs":[1,2}',
  '{"call":{"inputs":"abc}}',
  '{"call":{"inputs":1,}}',
  '{"call":{"inputs" 1}}',
  "{call:1}",
  '{"calls":[{},]}',
  '{"calls":[{} {}]}',
  "{} {}",
  "{}}",
  "tru",
])("what is not JSON is refused: %s", (text) => {
  expect(() => read(text)).toThrow(SyntaxError);
});

test("it reads whatever the spec may describe as JSON.parse does", () => {
  const values = [1, -0.5, "", "\\", '"', "\n", "é🧵", null, true, [], {}, [[]], [{}], { a: [] }];
  for (const a of values)
    for (const b of values) {
      const value = { call: { inputs: a, x: b }, calls: [{ inputs: b }, { inputs: a }], rest: [a, b] };
      for (const text of [JSON.stringify(value), JSON.stringify(value, undefined, 2)])
        expect(JSON.parse(JSON.stringify(read(text)))).toEqual(value);
    }
});
