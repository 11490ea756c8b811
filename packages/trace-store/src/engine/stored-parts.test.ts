import { expect, test } from "vitest";
import { missingParts } from "./stored-parts.js";
import type { StoredPart } from "./stored-parts.js";

/** A part that holds the inserts `from` to `to`. */
function part(from: number, to: number, rows: number, more: Partial<StoredPart> = {}): StoredPart {
  const name = `202601_${from}_${to}_${from === to ? 0 : 1}`;
  const hash = `hash of ${name}`;
  const table = { table: "calls", table_uuid: "uuid", partition_id: "202601" };
  return { ...table, name, min_block: from, max_block: to, rows, hash, expires_at: 0, ...more };
}

const missing = (before: StoredPart[], after: StoredPart[]) =>
  missingParts(before, after, 1000).map(({ name }) => name);

test("parts that are there, merged or rewritten are not missing", () => {
  const before = [part(1, 1, 10), part(2, 2, 10), part(3, 3, 10)];
  expect(missing(before, before)).toEqual([]);
  expect(missing(before, [part(1, 3, 25)])).toEqual([]);
  expect(missing(before, [part(1, 2, 20), part(3, 3, 5, { name: "202601_3_3_0_7", hash: "rewritten" })])).toEqual([]);
});

test("a merged part may be back as what it was merged from, with all rows", () => {
  const merged = part(1, 3, 25);
  expect(missing([merged], [part(1, 1, 10), part(2, 2, 10), part(3, 3, 10)])).toEqual([]);
  expect(missing([merged], [part(1, 1, 10), part(3, 3, 10)])).toEqual([merged.name]);
});

test("lost are: a part without a successor, one whose number was given anew, and those of a table or partition that is new", () => {
  const before = [part(1, 1, 10), part(2, 2, 10)];
  expect(missing(before, [part(1, 1, 10)])).toEqual(["202601_2_2_0"]);
  expect(missing(before, [part(1, 1, 10), part(2, 2, 1, { hash: "another insert" })])).toEqual(["202601_2_2_0"]);
  for (const other of [{ table_uuid: "another" }, { partition_id: "202602" }, { table: "files" }]) {
    expect(missing(before, [part(1, 2, 20, other)])).toHaveLength(2);
  }
});

test("a part that has expired may be gone", () => {
  expect(missing([part(1, 1, 10, { expires_at: 999 })], [])).toEqual([]);
  expect(missing([part(1, 1, 10, { expires_at: 1001 })], [])).toHaveLength(1);
});
