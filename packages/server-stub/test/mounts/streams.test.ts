import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runProgram } from "./run-program.js";
import type { Running } from "./run-program.js";
import type { Runtime } from "@heddle/tools/runtimes";

// Streams in the runtimes whose streams and signals are not those of Node.

const runtimes: Record<string, [example: string, Runtime]> = {
  Bun: ["bun", "bun"],
  Deno: ["deno", "deno"],
  workerd: ["worker", "workerd"],
};
const running = new Map<string, Running>();
beforeAll(async () => {
  const calls = "test/mounts/streaming-calls.ts";
  const start = async ([name, [example, runtime]]: [string, [string, Runtime]]) =>
    running.set(name, await runProgram(`examples/${example}.ts`, runtime, { calls }));
  const started = await Promise.allSettled(Object.entries(runtimes).map(start));
  for (const result of started) if (result.status === "rejected") throw result.reason;
});
afterAll(() => Promise.all([...running.values()].map(({ stop }) => stop())));

describe.each(Object.keys(runtimes))("in %s", (name) => {
  const url = (path: string) => running.get(name)!.url + path;
  const post = (path: string, body: RequestInit["body"], headers: Record<string, string> = {}) =>
    fetch(url(path), { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

  test.each([
    ["as it is", (bytes: Buffer) => bytes, {}],
    ["gzip", gzipSync, { "content-encoding": "gzip" }],
    ["zlib", deflateSync, { "content-encoding": "deflate" }],
    ["raw deflate", deflateRawSync, { "content-encoding": "deflate" }],
  ])("a body is read as it arrives: %s", async (_, encode, headers) => {
    const response = await post("/v1/preview/training-jobs", encode(Buffer.alloc(300_000, "x")), headers);
    expect(await response.json()).toEqual({ detail: "read 300000 bytes" });
  });

  test("what is not compressed as it says is 400", async () => {
    const response = await post("/v1/preview/training-jobs", "plain", { "content-encoding": "gzip" });
    expect([response.status, await response.json()]).toEqual([400, { detail: "the body is not gzip data" }]);
  });

  test("a body may be refused before its end", async () => {
    const response = await post("/v1/preview/training-jobs", gzipSync(Buffer.alloc(30_000_000)), {
      "content-encoding": "gzip",
    });
    expect([response.status, await response.json()]).toEqual([422, { detail: "enough" }]);
  });
});

interface Counts {
  items: number;
  endedStreams: number;
  waiting: number;
  endedWaits: number;
}

async function countsOf(name: string): Promise<Counts> {
  const body = '{"project_id":"a/b","call_ids":["c"]}';
  const response = await fetch(`${running.get(name)!.url}/calls/delete`, { method: "POST", body });
  return JSON.parse(((await response.json()) as { reason: string }).reason) as Counts;
}

/** Begins a stream that has no end. */
async function openEndless(name: string): Promise<ClientRequest> {
  const outgoing = httpRequest(`${running.get(name)!.url}/calls/stream_query`, { method: "POST" });
  outgoing.end('{"project_id":"acme/demo"}');
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  await once(response, "data");
  return outgoing;
}

describe.each(["Bun", "Deno"])("in %s", (name) => {
  test("items of a stream arrive while it goes on, and its handler ends when the client leaves", async () => {
    const outgoing = await openEndless(name);
    expect((await countsOf(name)).endedStreams).toBe(0);
    outgoing.destroy();
    await vi.waitFor(async () => expect((await countsOf(name)).endedStreams).toBe(1), 10_000);
  });

  test("the signal of a handler aborts when the client leaves", async () => {
    const outgoing = httpRequest(`${running.get(name)!.url}/call/read`, { method: "POST" });
    outgoing.end('{"project_id":"a/b","id":"c"}').on("error", () => {});
    await vi.waitFor(async () => expect((await countsOf(name)).waiting).toBe(1), 10_000);
    outgoing.destroy();
    await vi.waitFor(async () => expect((await countsOf(name)).endedWaits).toBe(1), 10_000);
  });
});

test("workerd itself stops the stream of a client that leaves", async () => {
  const outgoing = await openEndless("workerd");
  outgoing.destroy();
  let before = -1;
  await vi.waitFor(
    async () => {
      const { items } = await countsOf("workerd");
      const since = items - before;
      before = items;
      expect(since).toBe(0);
    },
    { timeout: 10_000, interval: 200 },
  );
});
