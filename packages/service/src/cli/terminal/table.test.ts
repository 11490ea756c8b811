import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { Table } from "./table.js";
import type { Column } from "./table.js";

const columns: readonly Column<string[]>[] = [
  { title: "ID", of: ([id = ""]) => id },
  { title: "NAME", of: ([, name = ""]) => name, least: 6, color: () => "red" },
  { title: "COUNT", of: ([, , count = ""]) => count, align: "right", dispensable: 1 },
];
const lines = (rows: string[][], width?: number, colors = false) => {
  const table = new Table(columns, rows, { width, colors });
  return [table.header(), ...rows.map((row) => table.line(row))];
};

test("columns are as wide as they need, numbers to the right", () => {
  expect(
    lines([
      ["a", "first", "1"],
      ["bc", "2nd", "1,000"],
    ]),
  ).toEqual(["ID  NAME   COUNT", "a   first      1", "bc  2nd    1,000"]);
});

test("a narrow terminal cuts texts, then drops columns, and no line is wider", () => {
  const rows = [["a", "a long name of an op", "12"]];
  expect(lines(rows, 20)).toEqual(["ID  NAME       COUNT", "a   a long n…     12"]);
  expect(lines(rows, 12)).toEqual(["ID  NAME", "a   a long …"]);
});

test("wide characters count twice", () => {
  expect(lines([["a", "日本語のテスト", "1"]], 20)).toEqual(["ID  NAME       COUNT", "a   日本語の…      1"]);
});

test("what a terminal would obey is shown by its code", () => {
  const [, line] = lines([["a\u001B]0;owned\u0007", "x\u202Ey\nz\u009B2J", "1"]]);
  expect(line).toBe("a⟨1B⟩]0;owned⟨07⟩  x⟨202E⟩y↵z⟨9B⟩2J      1");
});

test("colours are the table's own, and only where they are wanted", () => {
  const [, line = ""] = lines([["a", "failed", "1"]], 40, true);
  expect(line).not.toBe(stripVTControlCharacters(line));
  expect(stripVTControlCharacters(line)).toBe(lines([["a", "failed", "1"]])[1]);
});
