import { expect, test } from "vitest";
import { grpcStatusOf, statusHeaders } from "./grpc-status.js";

const json = (status: number, value: object, headers: Record<string, string> = {}) =>
  grpcStatusOf({ status, headers, body: JSON.stringify(value) });

test("errors of HTTP have the code of gRPC with which exporters do the same, and the reason of their body", () => {
  expect(json(400, { reason: "no project" })).toEqual({ code: 3, message: "no project" });
  expect(json(413, { reason: "too large" })).toMatchObject({ code: 3 });
  expect(json(422, { detail: [{ msg: "a" }, { msg: "b" }] })).toEqual({ code: 3, message: "a; b" });
  expect(json(401, { reason: "x" }).code).toBe(16);
  expect(json(403, { reason: "x" }).code).toBe(7);
  expect(json(404, { error: "no logs" })).toEqual({ code: 12, message: "no logs" });
  expect(json(408, { reason: "x" }).code).toBe(4);
  expect(json(429, { reason: "x" }, { "retry-after": "2" })).toEqual({ code: 8, message: "x", retryAfter: 2 });
  expect(json(503, { reason: "x" }, { "retry-after": "5" })).toMatchObject({ code: 14, retryAfter: 5 });
  expect(json(500, {}).code).toBe(13);
});

test("the message is percent-encoded where it must be, and short enough for the headers of any client", () => {
  const message = (text: string) => statusHeaders({ code: 3, message: text })["grpc-message"];
  expect(message("a: b, 100% é\n\ud800")).toBe("a: b, 100%25 %C3%A9%0A%EF%BF%BD");
  expect(message("")).toBeUndefined();
  expect(message("🚀".repeat(100_000))?.length).toBeLessThan(7000);
});

test("when to repeat a call is in a google.rpc.RetryInfo", () => {
  const { "grpc-status-details-bin": details = "" } = statusHeaders({ code: 8, message: "later", retryAfter: 300 });
  const bytes = Buffer.from(details, "base64");
  const retryInfo = Buffer.from([0x12, 5, 0x0a, 3, 0x08, 0xac, 0x02]);
  expect(bytes.subarray(-7)).toEqual(retryInfo);
  const type = Buffer.from("type.googleapis.com/google.rpc.RetryInfo");
  const head = Buffer.from([0x08, 8, 0x12, 5, ...Buffer.from("later"), 0x1a, type.length + 9, 0x0a, type.length]);
  expect(bytes.subarray(0, -7)).toEqual(Buffer.concat([head, type]));
});
