import { describe, expect, test } from "vitest";
import { definition } from "../test/library.js";
import { detailsOf } from "./validation.js";

/** What is said about a value by the validator of that name. */
function said(name: string, value: unknown) {
  const validator = definition.validators[name];
  return validator?.(value)
    ? []
    : detailsOf(validator?.errors, ["body"], value).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
}

const book = (more: object) => ({ id: "b1", title: "T", notes: {}, ...more });

describe("what is wrong with a body is said in one sentence and by its place", () => {
  test.each([
    [{ id: 1 }, "body.id: value is not a valid string"],
    [{ id: undefined }, "body.id: field required"],
    [{ id: "ABC" }, "body.id: string does not match the pattern ^[a-z0-9]+$"],
    [{ id: "abcdefghi" }, "body.id: ensure this value has at most 8 characters"],
    [{ title: "" }, "body.title: ensure this value has at least 1 characters"],
    [{ kind: "poem" }, 'body.kind: value is not one of "novel", "manual"'],
    [{ copies: 1.5 }, "body.copies: value is not a valid integer"],
    [{ copies: -1 }, "body.copies: ensure this value is greater than or equal to 0"],
    [{ copies: 1000 }, "body.copies: ensure this value is less than 1000"],
    [{ price: 0.3 }, "body.price: ensure this value is a multiple of 0.5"],
    [{ tags: ["a", "b", "c", "d"] }, "body.tags: ensure this value has at most 3 items"],
    [{ tags: ["a", "a"] }, "body.tags: ensure this value has no repeated items"],
    [{ tags: ["a", 1] }, "body.tags.1: value is not a valid string"],
    [{ counts: { a: 1, b: 2, c: 3 } }, "body.counts: ensure this value has at most 2 keys"],
    [{ counts: { "a/b~c": "1" } }, "body.counts.a/b~c: value is not a valid integer"],
    [{ author: {} }, "body.author.name: field required"],
    [{ author: { name: "A", age: 3 } }, "body.author.age: extra fields not permitted"],
    [{ author: { name: "A", born: "yesterday" } }, "body.author.born: invalid date-time format"],
    [{ author: 7 }, "body.author: value is not a valid object or null"],
  ])("%j", (more, sentence) => {
    expect(said("bookCreate_body", book(more))).toEqual([sentence]);
  });

  test("a length counts characters, not code units", () => {
    expect(said("bookCreate_body", book({ id: "\u{1f600}".repeat(8) }))).toEqual([
      "body.id: string does not match the pattern ^[a-z0-9]+$",
    ]);
  });

  test("times may lack an offset, seconds or the time itself", () => {
    for (const born of ["1990-01-02", "1990-01-02T03:04", "1990-01-02 03:04:05.123456", "1990-01-02T03:04:05+0200"]) {
      expect(said("bookCreate_body", book({ author: { name: "A", born } })), born).toEqual([]);
    }
  });
});

describe("of a choice only the branch that came furthest is told", () => {
  test.each([
    [
      { query: { $and: [{ $eq: [{ $literal: 1 }, true] }] } },
      "body.query.$and.0.$eq.1: value is not a valid string or number or null",
    ],
    [{ query: { $eq: [{ $literal: 1 }] } }, "body.query.$eq: ensure this value has at least 2 items"],
    [{ query: { $or: [] } }, "body.query: one of these fields is required: $and, $eq, $literal"],
    [{ query: 1 }, "body.query: value is not a valid object"],
    [{ query: { $literal: 1, $and: [] } }, "body.query.$literal: extra fields not permitted"],
  ])("%j", (value, sentence) => {
    expect(said("booksStream_body", value)).toContain(sentence);
  });
});
