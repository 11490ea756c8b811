import { HeddleError, withLoc } from "@heddle/errors";
import type { ErrorCode } from "@heddle/errors";
import { Problem } from "@heddle/server-stub";
import type { OperationEntry } from "@heddle/server-stub";
import { expect, test } from "vitest";
import { itemDetailOf, problemOf } from "./problems.js";

const invalid = new HeddleError("invalid", "must be a name", { loc: ["obj", "object_id"], details: { digest: "abc" } });

test("a 400 names the field in its text and carries what the error has to add", () => {
  expect(problemOf(invalid)).toMatchObject({
    status: 400,
    message: "body.obj.object_id: must be a name",
    extras: { digest: "abc" },
    headers: {},
    details: undefined,
  });
  expect(problemOf(new HeddleError("not_found", "no such table"))).toMatchObject({
    status: 404,
    message: "no such table",
  });
});

test("a field that is a parameter of the operation is named as one", () => {
  const tag: OperationEntry = {
    id: "objAddTags",
    group: "objects",
    method: "POST",
    paths: ["/obj/{object_id}/tags"],
    public: false,
    path: { entries: [{ name: "object_id", type: "string" }], validator: "" },
    response: { status: 200, json: true },
  };
  const error = new HeddleError("invalid", "too long", { loc: ["object_id"] });
  expect(problemOf(error, tag)).toMatchObject({ message: "path.object_id: too long" });
});

test("a value that its field cannot have is reported like a violation of the schema", () => {
  const unprocessable = (loc?: string[]) => new HeddleError("unprocessable", "cannot be queried", { loc });
  const details = (loc: string[]) => [{ loc, msg: "cannot be queried", type: "value_error" }];
  expect(problemOf(unprocessable(["query", "$expr"]))).toMatchObject({
    status: 422,
    details: details(["body", "query", "$expr"]),
  });
  expect(problemOf(unprocessable())).toMatchObject({ status: 422, details: details(["body"]) });
});

test.each(["busy", "denied", "aborted", "rate_limited"] as const)(
  "%s names the time to send the request again",
  (code) => {
    const problem = problemOf(new HeddleError(code, "later", { cause: new Error("at 10.0.0.1") }));
    expect(problem).toMatchObject({ message: "later", headers: { "retry-after": "1" } });
  },
);

test("corrupt data is a 500 with its message, which clients do not send again", () => {
  const problem = problemOf(new HeddleError("corrupt", "the part x cannot be read", { cause: "/data/x" }));
  expect(problem).toMatchObject({
    status: 500,
    message: "the part x cannot be read",
    headers: { "x-should-retry": "false" },
  });
});

test("a process without a free file is busy, also where fetch hides the reason", () => {
  const noFile = Object.assign(new Error("EMFILE: too many open files, open '/x'"), { code: "EMFILE" });
  for (const error of [noFile, new TypeError("fetch failed", { cause: noFile })]) {
    expect(problemOf(error)).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  }
});

test.each<ErrorCode>(["failed", "incompatible"])("%s is a 500 without its message", (code) => {
  expect(problemOf(new HeddleError(code, "the stored bytes differ"))).toBeUndefined();
});

test("errors of the system and defects are a 500, whatever they call their code", () => {
  expect(problemOf(Object.assign(new Error("ENOENT"), { code: "not_found" }))).toBeUndefined();
  expect(problemOf(new TypeError("x is not a function"))).toBeUndefined();
});

test("an item of a batch is refused at its position, or at the field where that is known", () => {
  const loc = ["body", "batch", 1];
  const inItem = (error: HeddleError) => {
    try {
      return withLoc(["batch", 1], () => {
        throw error;
      });
    } catch (moved) {
      return itemDetailOf(moved, loc);
    }
  };
  expect(inItem(invalid)).toEqual({
    loc,
    msg: "body.batch.1.obj.object_id: must be a name",
    type: "value_error",
  });
  expect(inItem(new HeddleError("unprocessable", "no time", { loc: ["started_at"] }))).toMatchObject({
    loc: [...loc, "started_at"],
    msg: "no time",
  });
  expect(inItem(new HeddleError("forbidden", "Forbidden"))).toMatchObject({ loc, type: "forbidden" });
  expect(inItem(new HeddleError("busy", "later"))).toBeUndefined();
  expect(itemDetailOf(new Problem(401, "No API key"), loc)).toBeUndefined();
});
