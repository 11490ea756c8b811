import { createServer } from "node:http";
import { expect, test, vi } from "vitest";
import { startScript, startServer } from "../test/http-server.js";
import type { RequestOptions } from "./connection.js";
import { connect } from "./connection.js";
import { HeddleApiError } from "./error.js";
import { readJson } from "./json.js";
import { withJson, withQuery } from "./outgoing.js";
import { retryDelay } from "./retry.js";

const soon = { "retry-after": "0" };

function write(baseUrl: string, options?: RequestOptions) {
  return readJson(
    connect("tracing", undefined, { baseUrl }),
    withJson("act", "POST /call/start", { start: {} }),
    options,
  );
}

test.for([408, 429, 500, 502, 503, 504])("a write that meets %i once succeeds", async (status) => {
  const { baseUrl, requests } = await startScript([status, soon], [200, {}, '{"id":"1"}']);
  expect(await write(baseUrl)).toEqual({ id: "1" });
  expect(requests).toHaveLength(2);
});

test.for([400, 401, 403, 404, 409, 413, 422, 501])("%i is final", async (status) => {
  const { baseUrl, requests } = await startScript([status, soon, '{"reason":"no"}']);
  await expect(write(baseUrl)).rejects.toMatchObject({ status, reason: "no" });
  expect(requests).toHaveLength(1);
});

test("the service may forbid or ask for another try whatever the status", async () => {
  const final = await startScript([503, { ...soon, "x-should-retry": "false" }]);
  await expect(write(final.baseUrl)).rejects.toMatchObject({ status: 503 });
  expect(final.requests).toHaveLength(1);
  const passing = await startScript([409, { ...soon, "x-should-retry": "true" }], [200, {}, "{}"]);
  expect(await write(passing.baseUrl)).toEqual({});
});

test("all tries of one write carry one retry id, two writes carry two, a read carries none", async () => {
  const { baseUrl, requests } = await startScript([503, soon], [503, soon], [200, {}, "{}"]);
  await write(baseUrl);
  await write(baseUrl);
  await write(baseUrl, { retryId: "mine" });
  await readJson(connect("tracing", undefined, { baseUrl }), withQuery("act", "GET /health"));
  const ids = requests.map((request) => request.headers["x-weave-retry-id"]);
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids).toEqual([ids[0], ids[0], ids[0], ids[3], "mine", undefined]);
  expect(ids[3]).not.toBe(ids[0]);
});

test("a request that cannot be made is not sent, and says what is wrong", async () => {
  const { baseUrl, requests } = await startScript([200, {}, "{}"]);
  const connection = connect("tracing", undefined, { baseUrl });
  const dots = readJson(connection, withQuery("act", "DELETE /v1/artifacts/{name}", { name: ".." }));
  await expect(dots).rejects.toThrow('DELETE /v1/artifacts/{name}: name must not be empty, "." or ".."');
  const missing = readJson(connection, withQuery("act", "DELETE /v1/artifacts/{name}", {}));
  await expect(missing).rejects.toThrow("name must not be empty");
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  await expect(readJson(connection, withJson("act", "POST /call/start", circular))).rejects.toThrow(/circular/i);
  expect(requests).toHaveLength(0);
});

test("tries end after the configured number, with the last error", async () => {
  const { baseUrl, requests } = await startScript([503, soon, '{"reason":"busy"}']);
  await expect(write(baseUrl, { retries: 2 })).rejects.toMatchObject({ status: 503, reason: "busy", retryAfter: 0 });
  expect(requests).toHaveLength(3);
});

test("a connection that breaks is tried again", async () => {
  let times = 0;
  const { baseUrl } = await startServer((request, response) => {
    times += 1;
    if (times === 1) request.socket.destroy();
    else response.end('{"id":"2"}');
  });
  expect(await write(baseUrl)).toEqual({ id: "2" });
});

test("a port without a server is a HeddleApiError with status 0 and the cause", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const failure = write(`http://127.0.0.1:${port}`, { retries: 0 });
  await expect(failure).rejects.toBeInstanceOf(HeddleApiError);
  await expect(failure).rejects.toMatchObject({
    status: 0,
    operation: "POST /call/start",
    cause: { name: "TypeError" },
  });
});

test("a request whose response is not JSON is not sent again", async () => {
  const { baseUrl, requests } = await startScript([200, {}, "<html>"]);
  await expect(write(baseUrl)).rejects.toMatchObject({ status: 200, cause: { name: "SyntaxError" } });
  expect(requests).toHaveLength(1);
});

test("an attempt that takes too long ends with that reason", async () => {
  const { baseUrl } = await startServer(() => undefined);
  const failure = write(baseUrl, { timeout: 30, retries: 0 });
  await expect(failure).rejects.toThrow("POST /call/start failed: no response within 30 ms");
});

test("an abort is the signal's own reason, during an attempt and while waiting for the next", async () => {
  const hanging = await startServer(() => undefined);
  await expect(write(hanging.baseUrl, { signal: AbortSignal.timeout(30) })).rejects.toMatchObject({
    name: "TimeoutError",
  });
  const { baseUrl, requests } = await startScript([503, { "retry-after": "50" }]);
  const controller = new AbortController();
  const started = Date.now();
  const isWaiting = vi.waitFor(() => expect(requests).toHaveLength(1), 5_000);
  void isWaiting.then(() => setTimeout(() => controller.abort(new Error("enough")), 50));
  await expect(write(baseUrl, { signal: controller.signal })).rejects.toThrow("enough");
  expect(Date.now() - started).toBeLessThan(20_000);
  expect(requests).toHaveLength(1);
  await expect(write(baseUrl, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  expect(requests).toHaveLength(1);
});

test("waits double from half a second to eight, with up to half of it taken off at random", () => {
  const error = new HeddleApiError(outgoing, { status: 500 });
  for (const [attempt, longest] of [500, 1000, 2000, 4000, 8000, 8000].entries()) {
    const delay = retryDelay(error, attempt)!;
    expect(delay).toBeGreaterThanOrEqual(longest / 2);
    expect(delay).toBeLessThanOrEqual(longest);
  }
});

const outgoing = { operationId: "act", operation: "GET /" };

function after(value: string): HeddleApiError {
  return new HeddleApiError(outgoing, { status: 429, headers: new Headers({ "retry-after": value }) });
}

test("Retry-After is obeyed in seconds and as a date, and left to the caller when longer than a minute", () => {
  expect(retryDelay(after("7"), 0)).toBe(7_000);
  const inAnHour = after(new Date(Date.now() + 3_600_000).toUTCString());
  expect(inAnHour.retryAfter).toBeGreaterThan(3_590);
  expect(retryDelay(inAnHour, 0)).toBeUndefined();
  expect(after(new Date(Date.now() - 1_000).toUTCString()).retryAfter).toBe(0);
  expect(after("soon").retryAfter).toBeUndefined();
});
