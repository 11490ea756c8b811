import * as fc from "fast-check";
import { expect, test } from "vitest";
import { EditableList } from "./editable-list.js";

test("edits at any position give what they give in an array", () => {
  const edit = fc.record({ kind: fc.constantFrom("insert", "remove"), at: fc.double({ min: 0, max: 1, noNaN: true }) });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5000 }), fc.array(edit, { maxLength: 300 }), (length, edits) => {
      const array = Array.from({ length }, (_, index) => index);
      const list = new EditableList(array);
      for (const [number, { kind, at }] of edits.entries()) {
        if (kind === "insert") {
          const index = Math.round(at * array.length);
          array.splice(index, 0, -number);
          list.insert(index, -number);
        } else if (array.length > 0) {
          const index = Math.min(Math.floor(at * array.length), array.length - 1);
          expect(list.remove(index)).toBe(array.splice(index, 1)[0]);
        }
        expect(list.length).toBe(array.length);
      }
      expect(list.toArray()).toEqual(array);
    }),
  );
});

test("chunks are split and dropped as the list grows and shrinks", () => {
  const list = new EditableList<number>([]);
  for (let index = 0; index < 10_000; index++) list.insert(0, index);
  expect(list.toArray()).toEqual(Array.from({ length: 10_000 }, (_, index) => 9999 - index));
  for (let index = 0; index < 10_000; index++) expect(list.remove(0)).toBe(9999 - index);
  expect(list.toArray()).toEqual([]);
  list.insert(0, 1);
  expect(list.toArray()).toEqual([1]);
});
