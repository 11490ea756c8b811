import { expect, test } from "vitest";
import { leafAt, leafText } from "./leaf.js";

// The right side is what ClickHouse's JSONExtract(…, 'String') prints.
test.each([
  ["1.50", "1.5"],
  ["1.0", "1"],
  ["-0", "0"],
  ["-0.0", "-0"],
  ["1e5", "100000"],
  ["1E21", "1e21"],
  ["123456789012345680000.0", "123456789012345680000"],
  ["1e-7", "1e-7"],
  ["18446744073709551615", "18446744073709551615"],
  ["true", "true"],
  ["null", ""],
  ['"\\u00e9\\/\\n"', "é/\n"],
  ['[1.0, 1e5 ,"\\u00e9\\/\\n", {"a" : null}, true, -0.0]', '[1,100000,"é/\\n",{"a":null},true,-0]'],
  ['{ "b" : 1 , "a":[ ] , "a":{} }', '{"b":1,"a":[],"a":{}}'],
])("%s reads as %s", (json, text) => {
  expect(leafText(leafAt(`{"x": ${json} }`, ["x"]))).toBe(text);
});
