import { expect, test } from "vitest";
import { HeddleApiError } from "./error.js";

const operation = "POST /obj/read";

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
  const error = new HeddleApiError({ operation, status: 404, body });
  expect(error.reason).toBe(reason);
  expect(error.message).toBe(`POST /obj/read: 404 ${reason}`);
  expect(error.body).toBe(body);
});

test("the request id helps to find the request in the service's log", () => {
  const headers = new Headers({ "x-request-id": "r-1" });
  expect(new HeddleApiError({ operation, status: 500, headers }).requestId).toBe("r-1");
  expect(new HeddleApiError({ operation, status: 500 }).requestId).toBeUndefined();
});

test("without a response the message is that of the cause", () => {
  const cause = new TypeError("fetch failed");
  const error = new HeddleApiError({ operation, cause });
  expect(error.message).toBe("POST /obj/read: fetch failed");
  expect(error.status).toBe(0);
  expect(error.cause).toBe(cause);
});
