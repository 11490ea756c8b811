import { expect, test } from "vitest";
import { csvRow } from "./csv.js";

test.each([
  ['"=1+2"', "'=1+2"],
  ['"@cmd"', "'@cmd"],
  ['"-"', "'-"],
  ['"+49 170"', "'+49 170"],
  ['"\\tx"', "'\tx"],
  ['"\\rx"', `"'\rx"`],
  ['"-1.5"', "-1.5"],
  ['"+2e-3"', "+2e-3"],
  ["-1", "-1"],
  ["1.0", "1.0"],
  ["107505301260286111", "107505301260286111"],
  ["\"-1+cmd|'/C calc'!A0\"", "'-1+cmd|'/C calc'!A0"],
  ['"a,b"', '"a,b"'],
  ['"say \\"hi\\"\\n"', '"say ""hi""\n"'],
  ['{"a": 1.0,"b":[]}', '"{""a"": 1.0,""b"":[]}"'],
  ['""', ""],
  ["true", "true"],
  [undefined, ""],
])("%s becomes the cell %s", (value, cell) => {
  expect(csvRow(["1", value, "2"])).toBe(`1,${cell},2\r\n`);
});
