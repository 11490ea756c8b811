import { describe, expect, test } from "vitest";
import { groups } from "../../test/library.js";
import { detailsOf } from "./validation.js";

/** The messages of the validator of that name about a value. */
function messagesOf(name: string, value: unknown) {
  const validator = groups.map(({ validators }) => validators[name]).find((found) => found !== undefined);
  return validator?.(value)
    ? []
    : detailsOf(validator?.errors, ["body"], value).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
}

const book = (more: object) => ({ id: "b1", title: "T", notes: {}, ...more });

describe("an error names what is wrong with a body, and its location", () => {
  test.each([
    [{ id: 1 }, "body.id: Not a valid string"],
    [{ id: undefined }, "body.id: Field required"],
    [{ id: "ABC" }, "body.id: Does not match the pattern ^[a-z0-9]+$"],
    [{ id: "abcdefghi" }, "body.id: Must have at most 8 characters"],
    [{ title: "" }, "body.title: Must have at least 1 characters"],
    [{ kind: "poem" }, 'body.kind: Must be one of "novel", "manual"'],
    [{ copies: 1.5 }, "body.copies: Not a valid integer"],
    [{ copies: -1 }, "body.copies: Must be greater than or equal to 0"],
    [{ copies: 1000 }, "body.copies: Must be less than 1000"],
    [{ price: 0.3 }, "body.price: Must be a multiple of 0.5"],
    [{ tags: ["a", "b", "c", "d"] }, "body.tags: Must have at most 3 items"],
    [{ tags: ["a", "a"] }, "body.tags: Must not repeat an item"],
    [{ tags: ["a", 1] }, "body.tags.1: Not a valid string"],
    [{ counts: { a: 1, b: 2, c: 3 } }, "body.counts: Must have at most 2 keys"],
    [{ counts: { "a/b~c": "1" } }, "body.counts.a/b~c: Not a valid integer"],
    [{ author: {} }, "body.author.name: Field required"],
    [{ author: { name: "A", age: 3 } }, "body.author.age: Unknown key"],
    [
      { author: { name: "A", born: "yesterday" } },
      "body.author.born: Not a point in time: ISO 8601 text, or seconds or milliseconds since 1970",
    ],
    [{ author: 7 }, "body.author: Not a valid object or null"],
  ])("%j", (more, sentence) => {
    expect(messagesOf("bookCreate_body", book(more))).toEqual([sentence]);
  });

  test("all that is wrong is named at once, and no more than ten of it", () => {
    const wrong = { id: 7, title: "", copies: -1, tags: ["a", 1, 2], author: {} };
    expect(messagesOf("bookCreate_body", wrong).toSorted()).toEqual([
      "body.author.name: Field required",
      "body.copies: Must be greater than or equal to 0",
      "body.id: Not a valid string",
      "body.notes: Field required",
      "body.tags.1: Not a valid string",
      "body.tags.2: Not a valid string",
      "body.title: Must have at least 1 characters",
    ]);
    expect(messagesOf("bookCreate_body", book({ tags: Array.from({ length: 100_000 }, () => 1) }))).toHaveLength(10);
  });

  test("a length counts characters, not code units", () => {
    expect(messagesOf("bookCreate_body", book({ id: "\u{1f600}".repeat(8) }))).toEqual([
      "body.id: Does not match the pattern ^[a-z0-9]+$",
    ]);
  });

  test("times may lack an offset, seconds or the time itself", () => {
    for (const born of ["1990-01-02", "1990-01-02T03:04", "1990-01-02 03:04:05.123456", "1990-01-02T03:04:05+0200"]) {
      expect(messagesOf("bookCreate_body", book({ author: { name: "A", born } })), born).toEqual([]);
    }
  });

  test.each([
    ["2024-02-29", true],
    ["2000-02-29T00:00Z", true],
    ["1775811600", true],
    ["1775811600.25", true],
    ["2023-02-29", false],
    ["1900-02-29", false],
    ["2026-04-31", false],
    ["2026-13-01", false],
    ["2026-04-10T25:00:00Z", false],
    ["2026-04-10T09:60", false],
    ["2026-04-10T09:00+24:00", false],
    ["", false],
  ])("%j is a time: %j", (born, isTime) => {
    expect(messagesOf("bookCreate_body", book({ author: { name: "A", born } }))).toHaveLength(isTime ? 0 : 1);
  });
});

describe("of a choice only the branch with the deepest location is reported", () => {
  test.each([
    [
      { query: { $and: [{ $eq: [{ $literal: 1 }, true] }] } },
      "body.query.$and.0.$eq.1: Not a valid string or number or null",
    ],
    [{ query: { $eq: [{ $literal: 1 }] } }, "body.query.$eq: Must have at least 2 items"],
    [{ query: { $or: [] } }, "body.query: One of these fields is required: $and, $eq, $literal"],
    [{ query: 1 }, "body.query: Not a valid object"],
    [{ query: { $literal: 1, $and: [] } }, "body.query.$literal: Unknown key"],
  ])("%j", (value, sentence) => {
    expect(messagesOf("booksStream_body", value)).toContain(sentence);
  });
});
