import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { ClientOptions } from "../src/index.js";
import {
  createTracingClient,
  HeddleApiError,
  isBadRequest,
  isConflict,
  isConnectionError,
  isForbidden,
  isInvalid,
  isNotFound,
  isRateLimited,
  isRetryable,
  isServerError,
  isTimeout,
  isTooLarge,
  isUnauthorized,
} from "../src/index.js";
import { startScript, startServer } from "./http-server.js";

// What a user reads and can ask when a request fails, over real sockets.

async function failureOf(baseUrl: string, options: Partial<ClientOptions> = {}): Promise<HeddleApiError> {
  const tracing = createTracingClient({ baseUrl, retries: 0, ...options });
  const error: unknown = await tracing
    .callRead({ project_id: "acme/demo", id: "1" })
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof HeddleApiError)) throw new TypeError("the request did not fail", { cause: error });
  return error;
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("a port without a server is named with the address", async () => {
  const server = createServer();
  const port = await portOf(server);
  server.close();
  await once(server, "close");
  const error = await failureOf(`http://127.0.0.1:${port}`);
  expect(error.message).toBe(`POST /call/read failed: connect ECONNREFUSED 127.0.0.1:${port}`);
  expect(error).toMatchObject({ code: "ECONNREFUSED", status: 0, operationId: "callRead" });
  expect([isConnectionError(error), isRetryable(error), isTimeout(error), isServerError(error)]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const byName = await failureOf(`http://localhost:${port}`);
  expect(byName.message).toContain(`ECONNREFUSED 127.0.0.1:${port}`);
  expect(byName.message).toContain(`(localhost:${port})`);
});

test("a host name without an address is named", async () => {
  const error = await failureOf("http://heddle.invalid:4680");
  expect(error.message).toMatch(/^POST \/call\/read failed: getaddrinfo (ENOTFOUND|EAI_AGAIN) heddle\.invalid$/);
  expect(isConnectionError(error)).toBe(true);
});

test("a connection that ends before the response is named with host and code", async () => {
  const port = await portOf(createServer((socket) => socket.once("data", () => socket.end())));
  const error = await failureOf(`http://127.0.0.1:${port}`);
  expect(error.message).toBe(`POST /call/read failed: other side closed (UND_ERR_SOCKET, 127.0.0.1:${port})`);
  expect(isConnectionError(error)).toBe(true);
});

test("a response that is cut off keeps its headers and is a connection error", async () => {
  const { baseUrl } = await startServer((_, response) => {
    response.writeHead(200, { "content-length": "100", "x-request-id": "r-1" });
    response.write('{"call":');
    setImmediate(() => response.destroy());
  });
  const error = await failureOf(baseUrl);
  expect(error).toMatchObject({ status: 0, requestId: "r-1" });
  expect(isConnectionError(error)).toBe(true);
});

test("a certificate that is not trusted, and a port that does not speak TLS, are named", async () => {
  const untrusted = await portOf(createTlsServer({ key: selfSignedKey, cert: selfSignedCertificate }));
  const error = await failureOf(`https://127.0.0.1:${untrusted}`);
  expect(error.message).toBe(
    `POST /call/read failed: self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT, 127.0.0.1:${untrusted})`,
  );
  const plain = await startScript([200, {}, "{}"]);
  const wrong = await failureOf(plain.baseUrl.replace("http:", "https:"));
  expect(wrong.message).toMatch(/wrong version number.*\(.*127\.0\.0\.1:\d+\)/s);
  expect(isConnectionError(wrong)).toBe(true);
});

test("a time limit that passes is named with the option that sets it", async () => {
  const { baseUrl } = await startServer(() => undefined);
  const error = await failureOf(baseUrl, { timeout: 20 });
  expect(error.message).toBe(
    `POST /call/read failed: no response within 20 ms, which the option "timeout" sets (${new URL(baseUrl).host})`,
  );
  expect(error.code).toBe("TimeoutError");
  expect([isTimeout(error), isConnectionError(error), isRetryable(error)]).toEqual([true, false, true]);
});

test("a page in place of JSON is shown by its start", async () => {
  const page = `<!doctype html>\n<title>Log in</title>${"<p>text</p>".repeat(100)}`;
  const { baseUrl } = await startScript([200, { "content-type": "text/html; charset=utf-8" }, page]);
  const error = await failureOf(baseUrl);
  expect(error.message).toMatch(
    /^POST \/call\/read: 200 text\/html instead of JSON: <!doctype html> <title>Log in<\/title>.{1,200}…$/,
  );
  expect(error).toMatchObject({ status: 200, body: page, code: undefined });
  expect([isConnectionError(error), isRetryable(error)]).toEqual([false, false]);
});

test("JSON that is cut short is shown by its start", async () => {
  const { baseUrl } = await startScript([200, { "content-type": "application/json" }, '{"call":']);
  const error = await failureOf(baseUrl);
  expect(error.message).toBe('POST /call/read: 200 application/json that is not JSON: {"call":');
});

test.for([
  [400, isBadRequest],
  [401, isUnauthorized],
  [403, isForbidden],
  [404, isNotFound],
  [409, isConflict],
  [413, isTooLarge],
  [422, isInvalid],
  [429, isRateLimited],
] as const)("%i has a predicate of its own", async ([status, predicate]) => {
  const { baseUrl } = await startScript([status, {}, '{"reason":"no"}']);
  const error = await failureOf(baseUrl);
  const all = [
    isBadRequest,
    isUnauthorized,
    isForbidden,
    isNotFound,
    isConflict,
    isTooLarge,
    isInvalid,
    isRateLimited,
    isServerError,
    isTimeout,
    isConnectionError,
  ];
  expect(all.filter((each) => each(error))).toEqual([predicate]);
  expect(isRetryable(error)).toBe(status === 429);
  expect(predicate(new Error("no"))).toBe(false);
  expect(predicate(undefined)).toBe(false);
});

test("a server error is one whoever sends it, and retryable unless it says otherwise", async () => {
  const proxy = await failureOf((await startScript([502, {}, "Bad Gateway"])).baseUrl);
  expect([isServerError(proxy), isRetryable(proxy)]).toEqual([true, true]);
  const final = await failureOf((await startScript([500, { "x-should-retry": "false" }, "{}"])).baseUrl);
  expect([isServerError(final), isRetryable(final)]).toEqual([true, false]);
  const unimplemented = await failureOf((await startScript([501, {}, "{}"])).baseUrl);
  expect([isServerError(unimplemented), isRetryable(unimplemented)]).toEqual([true, false]);
});

test("a predicate with an operation asks for its response, not for the page of a proxy", async () => {
  const read = async (body: string) => {
    const { baseUrl } = await startScript([404, {}, body]);
    const tracing = createTracingClient({ baseUrl, retries: 0 });
    const input = { project_id: "acme/demo", object_id: "prompt", digest: "latest" };
    return await tracing.objRead(input).catch((error: unknown) => error);
  };
  const deleted = await read('{"reason":"deleted","deleted_at":"2026-01-01T00:00:00Z"}');
  expect(isNotFound(deleted)).toBe(true);
  expect(isNotFound(deleted, "objRead") && deleted.body.deleted_at).toBe("2026-01-01T00:00:00Z");
  expect(isNotFound(deleted, "objDelete")).toBe(false);
  const page = await read("<html>no such route</html>");
  expect(isNotFound(page)).toBe(true);
  expect(isNotFound(page, "objRead")).toBe(false);
});

test("headers and request id of successful responses reach onResponse", async () => {
  const { baseUrl } = await startScript(
    [503, { "retry-after": "0", "x-request-id": "r-1" }],
    [200, { "x-request-id": "r-2", "x-more": "yes" }, '{"call":null}'],
  );
  const tracing = createTracingClient({ baseUrl });
  const seen: unknown[] = [];
  await tracing.callRead(
    { project_id: "acme/demo", id: "1" },
    { onResponse: ({ status, headers, requestId }) => seen.push([status, requestId, headers.get("x-more")]) },
  );
  expect(seen).toEqual([[200, "r-2", "yes"]]);
  const failing = tracing.callRead(
    { project_id: "acme/demo", id: "1" },
    {
      onResponse() {
        throw new RangeError("mine");
      },
    },
  );
  await expect(failing).rejects.toThrow(RangeError);
});

test("onResponse is called when a stream begins", async () => {
  const { baseUrl } = await startScript([200, { "x-request-id": "r-1" }, '{"id":"1"}\n{"id":"2"}\n']);
  const seen: unknown[] = [];
  const options = { onResponse: ({ requestId }: { requestId: string | undefined }) => seen.push(requestId) };
  for await (const { id } of createTracingClient({ baseUrl }).callsQueryStream({ project_id: "a/b" }, options)) {
    seen.push(id);
  }
  expect(seen).toEqual(["r-1", "1", "2"]);
});

// For 127.0.0.1, valid until 2126; nothing trusts it.
const selfSignedCertificate = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUCQOqa++Zy1Xogg6ZQ9kR1oLnxo8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzA4MTk1N1oYDzIxMjYxMDMw
MDgxOTU3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASSddB9LAqXSpkzxOobnjxl74DpZxW+cLNRMnKbwAedA8NRvMJy7j0d
etik5hvW3GcKrcJYp9yNxe/4Gw65rI4bo28wbTAdBgNVHQ4EFgQUTUwm9bpiW90m
8UAt8mIonn6B6HYwHwYDVR0jBBgwFoAUTUwm9bpiW90m8UAt8mIonn6B6HYwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSQAwRgIhAIrQ0gh1RKgc8a6FIs1KWTapkGGkML72mGHcXEXu/9p8AiEA
ljmS+s++Ciq8z+CQbTIZ9YFPyuX1il3yv7EaT4pJbVI=
-----END CERTIFICATE-----`;

const selfSignedKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWfFiVFxU2HyKhZfa
2UBSRFjNgX6sWEL1VNB0E6/ltvehRANCAASSddB9LAqXSpkzxOobnjxl74DpZxW+
cLNRMnKbwAedA8NRvMJy7j0detik5hvW3GcKrcJYp9yNxe/4Gw65rI4b
-----END PRIVATE KEY-----`;
