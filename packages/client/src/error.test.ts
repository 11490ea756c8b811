import { expect, test } from "vitest";
import { HeddleApiError } from "./error.js";

const outgoing = { operationId: "objRead", operation: "POST /obj/read" };

test.for<[string, unknown, string]>([
  ["the tracing interface", { reason: "Object not found", deleted_at: "2026-01-01T00:00:00Z" }, "Object not found"],
  ["the training interface", { detail: "unknown model" }, "unknown model"],
  [
    "a validation error",
    {
      detail: [
        { loc: ["body", "start", "id"], msg: "too long", type: "string_too_long" },
        { loc: ["body", "batch", 3], msg: "missing", type: "missing" },
      ],
    },
    "body.start.id: too long; body.batch.3: missing",
  ],
  ["chat completions", { error: { message: "unknown model", code: 404 } }, "unknown model"],
  ["a proxy", "Bad Gateway", "Bad Gateway"],
  ["nothing at all", undefined, "HTTP status 404"],
  ["an unknown shape", { reason: { nested: true } }, "HTTP status 404"],
])("the message has the operation and the reason of %s", ([, body, reason]) => {
  const error = new HeddleApiError(outgoing, { status: 404, body });
  expect(error.reason).toBe(reason);
  expect(error.message).toBe(`POST /obj/read: 404 ${reason}`);
  expect(error.body).toBe(body);
});

test("a page of a proxy is reduced to its start on one line", () => {
  const body = `<html>\n  <head><title>502 Bad Gateway</title></head>\n${"<p>text</p>".repeat(1_000)}`;
  const error = new HeddleApiError(outgoing, { status: 502, body });
  expect(error.message).toMatch(/^POST \/obj\/read: 502 <html> <head><title>502 Bad Gateway<.{1,200}…$/);
  expect(error.body).toBe(body);
});

test("the message of a server error has the request id, by which the log is searched", () => {
  const headers = new Headers({ "x-request-id": "r-1" });
  const body = { reason: "internal error" };
  const failed = new HeddleApiError(outgoing, { status: 500, headers, body });
  expect(failed.message).toBe("POST /obj/read: 500 internal error (request id r-1)");
  expect(failed).toMatchObject({ requestId: "r-1", headers, operationId: "objRead", operation: "POST /obj/read" });
  const missing = new HeddleApiError(outgoing, { status: 404, headers, body: { reason: "unknown object" } });
  expect(missing.message).toBe("POST /obj/read: 404 unknown object");
  expect(missing.requestId).toBe("r-1");
  expect(new HeddleApiError(outgoing, { status: 500 }).requestId).toBeUndefined();
});

test("without a response the message is that of the innermost cause, with its code and the host", () => {
  const reset = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
  const cause = new TypeError("fetch failed", { cause: reset });
  const error = new HeddleApiError(outgoing, { cause, host: "heddle.example:4680" });
  expect(error.message).toBe("POST /obj/read failed: socket hang up (ECONNRESET, heddle.example:4680)");
  expect(error).toMatchObject({ status: 0, code: "ECONNRESET", cause, headers: undefined, body: undefined });
  const opaque = new HeddleApiError(outgoing, { cause: new TypeError("Failed to fetch"), host: "heddle.example" });
  expect(opaque.message).toBe("POST /obj/read failed: Failed to fetch (heddle.example)");
  expect(new HeddleApiError(outgoing, { cause: "odd" }).message).toBe("POST /obj/read failed: odd");
});
