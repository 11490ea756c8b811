import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { createGunzip, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FairShare } from "@heddle/concurrency";
import type { HttpResponse } from "@heddle/server-stub";
import { listen } from "@heddle/server-stub/node";
import type { Listening } from "@heddle/server-stub/node";
import { withScope } from "../limits/with-scope.js";

const text = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ id: n, name: `näme ${n} 🧵` })));
const json = { "content-type": "application/json" };
const messages = { key: "", entity: "", all: "" };

let listening: Listening;
let next: () => HttpResponse;
/** How the last response ended. */
let ended: { status: number; end: string } | undefined;
beforeAll(async () => {
  const observer = { onEnd: (_: unknown, how: { status: number; end: string }) => void (ended = how) };
  const memory = new FairShare({ capacity: 1e9, messages });
  const server = withScope(async () => next(), { memory, maxBytes: 1e9, observers: [observer] });
  listening = await listen(server, { stallMs: 500 });
});
afterAll(() => listening.close(0));

async function open(encodings = "gzip", { method = "GET" } = {}): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    const headers = encodings === "" ? {} : { "accept-encoding": encodings };
    request(listening.url, { method, headers, agent: false }, resolve).on("error", reject).end();
  });
}

async function read(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const respondWith = (response: Partial<HttpResponse>) => {
  next = () => ({ status: 200, headers: json, body: text, ...response });
};

test("text is compressed as the request accepts it, and is the same afterwards", async () => {
  respondWith({});
  const compressed = await open("br, gzip;q=0.5");
  expect(compressed.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  const bytes = await read(compressed);
  expect(bytes.length).toBeLessThan(Buffer.byteLength(text) / 3);
  expect(gunzipSync(bytes).toString()).toBe(text);
  for (const none of ["", "identity", "gzip;q=0", "gzip;q=0.5, identity"]) {
    const plain = await open(none);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.headers.vary).toBe("accept-encoding");
    expect((await read(plain)).toString()).toBe(text);
  }
});

test.each<[string, Partial<HttpResponse>]>([
  ["what is short", { body: text.slice(0, 1000) }],
  ["what is not text", { headers: { "content-type": "application/octet-stream" } }],
  ["what is compressed", { headers: { ...json, "content-encoding": "br" } }],
  ["a part", { status: 206, headers: { ...json, "content-range": "bytes 0-9/10" } }],
  ["what may be asked for in parts", { headers: { ...json, "accept-ranges": "bytes" } }],
  ["a secret", { headers: { ...json, "cache-control": "no-store, no-transform" } }],
])("%s is sent as it is", async (_, response) => {
  respondWith(response);
  const sent = await open("gzip, deflate, br, zstd");
  expect(sent.headers["content-encoding"]).toBe(response.headers?.["content-encoding"]);
  expect((await read(sent)).toString()).toBe(response.body ?? text);
});

test("headers that are of the plain text do not stay", async () => {
  const headers = { ...json, etag: '"abc"', vary: "origin", "content-length": String(Buffer.byteLength(text)) };
  respondWith({ headers });
  const sent = await open();
  expect(sent.headers).toMatchObject({ etag: 'W/"abc"', vary: "origin, accept-encoding", "content-encoding": "gzip" });
  expect(sent.headers["content-length"]).toBeUndefined();
  expect(gunzipSync(await read(sent)).toString()).toBe(text);
  respondWith({ headers, body: undefined });
  const head = await open("gzip", { method: "HEAD" });
  expect(head.headers).toMatchObject({ etag: 'W/"abc"', "content-encoding": "gzip" });
  expect(head.headers["content-length"]).toBeUndefined();
  respondWith({ status: 304, headers: { ...json, etag: '"abc"' }, body: undefined });
  const unchanged = await open();
  expect(unchanged).toMatchObject({ statusCode: 304, headers: { vary: "accept-encoding", etag: '"abc"' } });
  expect(unchanged.headers["content-encoding"]).toBeUndefined();
});

test("each item of a stream arrives when it is made", async () => {
  let proceed = (): void => undefined;
  respondWith({
    headers: { "content-type": "text/event-stream" },
    async body(sink) {
      for (let n = 0; n < 3; n++) {
        await sink.write(`data: ${n}\n\n`);
        await new Promise<void>((resolve) => (proceed = resolve));
      }
    },
  });
  const response = await open();
  expect(response.headers["content-encoding"]).toBe("gzip");
  const items: string[] = [];
  for await (const chunk of response.pipe(createGunzip())) {
    items.push(String(chunk));
    proceed();
  }
  expect(items).toEqual(["data: 0\n\n", "data: 1\n\n", "data: 2\n\n"]);
});

test("a stream that fails is cut off, and not a complete one that is shorter", async () => {
  respondWith({
    async body(sink) {
      await sink.write(text);
      await delay(10);
      throw new Error("the engine is gone");
    },
  });
  await expect(read(await open())).rejects.toThrow("aborted");
  expect(ended).toMatchObject({ status: 200, end: "failed" });
});

test("a stream is made no faster than its client reads, and ends with it", async () => {
  let written = 0;
  let isClosed = false;
  const noise = () => Array.from({ length: 8000 }, () => Math.random().toString(36)).join("");
  respondWith({
    async body(sink) {
      sink.onClose(() => (isClosed = true));
      for (; written < 1000 && !sink.closed; written++) await sink.write(noise());
    },
  });
  const response = await open();
  response.pause();
  await expect.poll(() => isClosed, { timeout: 10_000 }).toBe(true);
  expect(written).toBeLessThan(500);
  await expect.poll(() => ended).toMatchObject({ status: 200, end: "disconnected" });
  response.destroy();
});

test("who has a share of responses open gets the others as they are", async () => {
  const endings: (() => void)[] = [];
  respondWith({
    async body(sink) {
      await sink.write("x".repeat(2000));
      await new Promise<void>((resolve) => endings.push(resolve));
    },
  });
  const streams = await Promise.all(Array.from({ length: 300 }, async () => await open()));
  const encoded = streams.filter(({ headers }) => headers["content-encoding"] === "gzip");
  expect(encoded).toHaveLength(256);
  for (const stream of streams.slice(0, 10)) stream.destroy();
  for (const end of endings.splice(0)) end();
  await Promise.all(streams.slice(10).map(read));
  const after = await open();
  expect(after.headers["content-encoding"]).toBe("gzip");
  after.destroy();
});
