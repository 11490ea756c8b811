import { expect, test } from "vitest";
import { withLiterals } from "./with-literals.js";

test("placeholders become constants of their types, with whatever their texts hold", () => {
  const params = { p0: "it's {p1:UInt64}\n\\\0", p1: 5n, p2: ["'", "\\"], p3: null };
  expect(withLiterals("{p0:String} = {p1:UInt64}", params)).toBe(
    String.raw`'it\'s {p1:UInt64}\n\\\0' = _CAST('5', 'UInt64')`,
  );
  expect(withLiterals("{p2:Array(String)}", params)).toBe(String.raw`_CAST('[\'\\\'\',\'\\\\\']', 'Array(String)')`);
  expect(withLiterals("{p3:Nullable(String)}", params)).toBe("_CAST(NULL, 'Nullable(String)')");
  expect(withLiterals("{p1:Array(DateTime64(6, 'UTC'))}", params)).toContain(
    String.raw`'Array(DateTime64(6, \'UTC\'))'`,
  );
});

test("what is quoted, and what is no parameter, stays as it is", () => {
  const sql = "SELECT '{p0:String} it\\'s', \"{p0:String}\", `{p0:String}`, '\\\\' AS a, {p9:String}, '{}' || ";
  expect(withLiterals(`${sql}{p0:String}`, { p0: "x" })).toBe(`${sql}'x'`);
});
