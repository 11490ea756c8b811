import { once } from "node:events";
import { connect } from "node:net";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { GroupDefinition } from "../src/operations/definition.js";
import { handlerGroup } from "../src/operations/handler-group.js";
import type { StreamedBody } from "../src/operations/handlers.js";
import { listen } from "../src/node/node.js";
import { Problem } from "../src/problem.js";
import { createServer } from "../src/server.js";
import { drivers } from "./drivers.js";
import { groups } from "./library.js";

const maxBytes = 1_000_000;
const definitions = groups.map((group): GroupDefinition => ({
  ...group,
  interface: "training",
  operations: group.operations.map((entry) =>
    entry.id === "bookCreate" && entry.body
      ? { ...entry, body: { ...entry.body, maxBytes, streamed: true as const } }
      : entry,
  ),
}));

/** A server whose handler reads the body of a new book as it arrives. */
function streaming(handle: (body: StreamedBody) => Promise<unknown>) {
  const bookCreate = async ({ body }: { body: StreamedBody }) => await handle(body);
  return createServer(definitions.map((definition) => handlerGroup<unknown>(definition, { bookCreate })));
}

/** Reads the body and returns its length and a part of it. */
const measuring = streaming(async ({ stream, mediaType }) => {
  let size = 0;
  let last = "";
  for await (const chunk of stream) {
    size += chunk.length;
    last = Buffer.from(chunk).toString().slice(-3);
  }
  return { size, last, mediaType };
});

const json = { "content-type": "application/json" };
const text = "x".repeat(300_000) + "end";

describe.each(Object.entries(drivers))("a streamed body over %s", (_, drive) => {
  test.each([
    ["as it is", text, {}],
    ["gzip", gzipSync(text), { "content-encoding": "gzip" }],
    ["zlib", deflateSync(text), { "content-encoding": "deflate" }],
    ["raw deflate", deflateRawSync(text), { "content-encoding": "deflate" }],
  ])("reaches the handler: %s", async (_name, body, headers) => {
    await drive(measuring, async (send) => {
      const response = await send("/books", { method: "POST", body, headers: { ...json, ...headers } });
      expect(await response.json()).toEqual({ size: 300_003, last: "end", mediaType: "application/json" });
    });
  });

  test.each([
    ["more bytes than the limit", 413, "x".repeat(maxBytes + 1), {}],
    ["more inflated bytes than the limit", 413, gzipSync("x".repeat(maxBytes + 1)), { "content-encoding": "gzip" }],
    ["what is not gzip", 400, "plain", { "content-encoding": "gzip" }],
    ["half of a gzip body", 400, gzipSync(text).subarray(0, 100), { "content-encoding": "gzip" }],
    ["an unknown encoding", 415, "plain", { "content-encoding": "br" }],
    ["another media type", 415, "plain", { "content-type": "text/plain" }],
  ])("%s is refused", async (_name, status, body, headers) => {
    await drive(measuring, async (send) => {
      const response = await send("/books", { method: "POST", body, headers: { ...json, ...headers } });
      expect(response.status).toBe(status);
    });
  });
});

test("a client that is refused in the middle of a body can read why", async () => {
  const refusing = streaming(async ({ stream }) => {
    for await (const _ of stream) throw new Problem(422, "not this");
  });
  const listening = await listen(refusing);
  try {
    const response = await fetch(`${listening.url}/books`, {
      method: "POST",
      body: "x".repeat(900_000),
      headers: json,
    });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining("not this")]);
  } finally {
    await listening.close(0);
  }
});

test("a body that stalls gets 408, and one that waits for the handler does not", async () => {
  const slow = streaming(async ({ stream }) => {
    let size = 0;
    for await (const chunk of stream) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      size += chunk.length;
    }
    return { size };
  });
  const listening = await listen(slow, { bodyStallMs: 100 });
  try {
    const body = "x".repeat(900_000);
    const response = await fetch(`${listening.url}/books`, { method: "POST", body, headers: json });
    expect(await response.json()).toEqual({ size: 900_000 });
    const socket = connect(listening.port, "127.0.0.1");
    socket.write(
      "POST /books HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\nhalf",
    );
    const [received] = (await once(socket, "data")) as [Buffer];
    expect(received.toString()).toMatch(/^HTTP\/1\.1 408 /);
  } finally {
    await listening.close(0);
  }
});
