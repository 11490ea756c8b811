import { expect, test } from "vitest";
import { groups } from "../../test/library.js";
import { requestLoc } from "./request-loc.js";

const locIn = (id: string, loc: (string | number)[]) =>
  requestLoc(
    groups.flatMap(({ operations }) => operations).find((operation) => operation.id === id),
    loc,
  );

test("a path into the input of an operation is found in its parameters, otherwise in the body", () => {
  expect(locIn("bookRead", ["book_id"])).toEqual(["path", "book_id"]);
  expect(locIn("bookRead", ["pages", 0])).toEqual(["query", "pages", 0]);
  expect(locIn("bookCreate", ["X-Retry-Id"])).toEqual(["header", "X-Retry-Id"]);
  expect(locIn("bookCreate", ["notes", "book_id"])).toEqual(["body", "notes", "book_id"]);
  expect(locIn("bookCreate", [])).toEqual(["body"]);
  expect(locIn("no such operation", ["book_id"])).toEqual(["body", "book_id"]);
});
