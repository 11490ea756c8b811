import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isObjectId } from "../objects/names.js";
import { opObjectId } from "./op-object.js";

test.each([
  ["", "span"],
  ["agent", "agent"],
  ["日本語", "日本語"],
  ["中文", "中文"],
  ["агент", "агент"],
  ["हिन्दी", "हिन्दी"],
  ["chat gpt-4o", "chat-gpt-4o"],
  ["execute_tool погода", "execute_tool-погода"],
  ["GET /version", "GET-version"],
  ["GET /users/:id", "GET-users-id"],
])("the span %j has the op %s", (name, id) => expect(opObjectId(name)).toBe(id));

test.each([
  ["chat 🚀", /^chat-[0-9a-f]{8}$/],
  ["🚀", /^span-[0-9a-f]{8}$/],
  ["Weather in Paris?.task", /^Weather-in-Paris-.task-[0-9a-f]{8}$/],
  ["GET /users/{id}", /^GET-users-id-[0-9a-f]{8}$/],
  ["語".repeat(200), /^語{119}-[0-9a-f]{8}$/u],
  ["𠮷".repeat(200), /^𠮷{119}-[0-9a-f]{8}$/u],
])("an op that cannot have the name %j has one that ends in a hash", (name, id) => {
  expect(opObjectId(name)).toMatch(id);
});

test("names that differ in what an op cannot have are different ops", () => {
  const names = [
    "🚀",
    "🎉",
    "a/b",
    "a:b",
    "a b",
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

test("any names are storable, and two are one op only where a space or a route reads as hyphens", () => {
  const part = fc.constantFrom("a", "é", "語", "x1", " ", "-", "/", ":", "?", "🚀", "\u0301");
  const name = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
  const any = fc.oneof(name, fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 }));
  fc.assert(
    fc.property(any, any, (one, two) => {
      expect(isObjectId(opObjectId(one))).toBe(true);
      if (opObjectId(one) === opObjectId(two)) expect(one.replaceAll(" ", "-")).toBe(two.replaceAll(" ", "-"));
    }),
    { numRuns: 2000 },
  );
});
