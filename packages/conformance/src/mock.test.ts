import { toFetch } from "@heddle/server-stub/fetch";
import { describe, expect, test } from "vitest";
import { readContract } from "./contract.js";
import { createMockServer, mockOperations } from "./mock.js";
import { exampleRequest, toHttp } from "./requests.js";
import type { RequestParts } from "./requests.js";
import { checkResponse } from "./response-check.js";

// Responses are checked twice: by the stub that the server is made of, and by the judge.
const serve = toFetch(createMockServer({ validateResponses: true }));
const fetch = (url: string, init?: RequestInit) => serve(new Request(url, init));
const { operations } = readContract();
const send = async (operation: (typeof operations)[number], parts: RequestParts) => {
  const { method, target, headers, body } = toHttp(operation, parts);
  const request = { request: { method, target, headers }, bytes: new Uint8Array() };
  const init: RequestInit = { method, headers };
  const response = await fetch(`http://mock${target}`, body === undefined ? init : { ...init, body });
  return { ...request, status: response.status, headers: response.headers, text: await response.text() };
};

describe("every operation has a response that fits the spec", () => {
  test.each(operations)("$id", async (operation) => {
    const exchange = await send(operation, exampleRequest(operation));
    expect(() => checkResponse(operation, exchange, operation.schemas, [operation.success])).not.toThrow();
    if (operation.response !== undefined && exchange.text.startsWith("{")) {
      expect(JSON.parse(exchange.text)).toEqual(operation.stream === "jsonl" ? operation.item : operation.response);
    }
  });

  test("and none is missing", () => expect(mockOperations).toBe(operations.length));
});

const find = (id: string) => {
  const operation = operations.find((candidate) => candidate.id === id);
  if (operation === undefined) throw new Error(`no operation ${id}`);
  return operation;
};

test("a completion streams when a stream is requested", async () => {
  const operation = find("createChatCompletion");
  const body = { ...(exampleRequest(operation).body as object), stream: true };
  const { headers, text } = await send(operation, { body });
  expect(headers.get("content-type")).toBe("text/event-stream");
  expect(text).toMatch(/^data: \{.*\}\n\ndata: \[DONE\]\n\n$/);
});

test("a request that does not fit is refused as the service refuses it", async () => {
  const { status, text } = await send(find("callRead"), { body: { id: 5 } });
  expect(status).toBe(422);
  expect(JSON.parse(text)).toMatchObject({
    detail: [
      { loc: ["body", "project_id"], type: "missing" },
      { loc: ["body", "id"], type: "string_type" },
    ],
  });
});

test("pages of every origin may send requests with a key and read the responses", async () => {
  const origin = "https://app.example.com";
  const preflight = await fetch("http://mock/call/read", {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
  expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization,content-type");
  const response = await fetch("http://mock/health", { headers: { origin } });
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
});
