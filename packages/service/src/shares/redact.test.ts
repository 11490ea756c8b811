import { expect, test } from "vitest";
import { redact } from "./redact.js";

test.each([
  ['{"a": 1.0, "b" :{"c":[1,{"d":2}]}}', ["a"], '{"a": "[redacted]", "b" :{"c":[1,{"d":2}]}}'],
  [
    '{"a": 1.0, "b" :{"c":[1,{"d":2}]}}',
    ["b.c.1.d", "b.c.00"],
    '{"a": 1.0, "b" :{"c":["[redacted]",{"d":"[redacted]"}]}}',
  ],
  ['{"a":1,"a":[2],"\\u0061":3}', ["a"], '{"a":"[redacted]","a":"[redacted]","\\u0061":"[redacted]"}'],
  ['{"a":{"b":1},"a":{"b":2}}', ["a.b", "a"], '{"a":"[redacted]","a":"[redacted]"}'],
  ['{"__proto__":1,"x":2}', ["__proto__"], '{"__proto__":"[redacted]","x":2}'],
  ['{"a":1}', ["b", "a.b", "0"], '{"a":1}'],
  ["[1,2]", ["1"], '[1,"[redacted]"]'],
  ['"text"', ["a"], '"text"'],
])("%s without %j", (text, paths, expected) => {
  expect(
    redact(
      text,
      paths.map((path) => path.split(".")),
    ),
  ).toBe(expected);
});
