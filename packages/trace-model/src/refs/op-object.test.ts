import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isObjectId } from "../objects/names.js";
import { opObjectId } from "./op-object.js";

test.each(["agent", "日本語", "中文", "агент", "हिन्दी", "a-b", "run-20261105", "é".repeat(128)])(
  "the op of the span %j has its name",
  (name) => expect(opObjectId(name)).toBe(name),
);

test.each([
  ["", /^span--[0-9a-f]{8}$/],
  ["chat gpt-4o", /^chat-gpt-4o--[0-9a-f]{8}$/],
  ["execute_tool погода", /^execute_tool-погода--[0-9a-f]{8}$/],
  ["GET /version", /^GET-version--[0-9a-f]{8}$/],
  ["chat 🚀", /^chat--[0-9a-f]{8}$/],
  ["🚀", /^span--[0-9a-f]{8}$/],
  ["Weather in Paris?.task", /^Weather-in-Paris-.task--[0-9a-f]{8}$/],
  ["GET /users/{id}", /^GET-users-id--[0-9a-f]{8}$/],
  ["語".repeat(200), /^語{118}--[0-9a-f]{8}$/u],
  ["𠮷".repeat(200), /^𠮷{118}--[0-9a-f]{8}$/u],
])("an op that cannot have the name %j has one that ends in a hash", (name, id) => {
  expect(opObjectId(name)).toMatch(id);
});

test("names that differ in what an op cannot have are different ops", () => {
  const names = [
    "",
    "span",
    "🚀",
    "🎉",
    "a/b",
    "a:b",
    "a b",
    "a-b",
    opObjectId("a b"),
    opObjectId(opObjectId("a b")),
    "GET /a/b",
    "GET /a-b",
    "GET-a-b",
    "a  b",
    " a b",
    "a b ",
    "a?b",
    "a!b",
    "a|b",
    "?",
    "!",
    "日/本",
    "日:本",
  ];
  const long = Array.from({ length: 1000 }, (_, n) => `${"x".repeat(200)}${n}`);
  const all = [...names, ...long];
  expect(new Set(all.map(opObjectId)).size).toBe(all.length);
});

test("any names are storable, and no two are one op", () => {
  const part = fc.constantFrom("a", "é", "e\u0301", "語", "x1", " ", "-", "/", ":", "?", "🚀", "٣");
  const name = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
  const any = fc.oneof(name, fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 }));
  fc.assert(
    fc.property(any, any, (one, two) => {
      expect(isObjectId(opObjectId(one))).toBe(true);
      expect(opObjectId(one) === opObjectId(two)).toBe(one === two);
      expect(opObjectId(opObjectId(one)) === opObjectId(one)).toBe(opObjectId(one) === one);
    }),
    { numRuns: 1000 },
  );
});
