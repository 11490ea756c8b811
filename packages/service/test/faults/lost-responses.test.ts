import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openHarness } from "./engine-harness.js";
import { wire } from "./wire.js";
import type { Reply, Wire } from "./wire.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

// The engine host dies between its commit and its response; the client gets a 503 and sends the same request again.
let harness: Awaited<ReturnType<typeof openHarness>>;
let client: Wire;
beforeAll(async () => {
  harness = await openHarness();
  client = wire(harness.url);
}, 120_000);
afterAll(() => harness.close());

const projectId = "faults/responses";
const ended = (id: string, output: unknown = "done") => ({
  end: { project_id: projectId, id, ended_at: "2026-07-01T00:00:09Z", output, summary: {} },
});
const started = (id: string, startedAt = new Date().toISOString()) => ({
  start: {
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "work",
    started_at: startedAt,
    attributes: {},
    inputs: { id },
  },
});
const batchOf = (...ids: string[]) => ({
  batch: ids.flatMap((id) => [
    { mode: "start", req: started(id) },
    { mode: "end", req: ended(id) },
  ]),
});

/** The calls that are shown under these ids, and how many are counted. */
async function callsById(ids: string[]) {
  const filter = { call_ids: ids };
  const calls = await client.rows<{ id: string; ended_at: string | null; output: unknown; started_at: string }>(
    "/calls/stream_query",
    { project_id: projectId, filter },
  );
  const { count } = await client.ask<{ count: number }>("/calls/query_stats", { project_id: projectId, filter });
  return { ids: calls.map(({ id }) => id).toSorted(), count, calls };
}

async function untilStored(path: string, body: unknown): Promise<Reply> {
  for (;;) {
    const reply = await client.post(path, body);
    if (reply.status !== 503) return reply;
    expect(reply.headers.get("retry-after")).toMatch(/^\d+$/);
  }
}

/** Loses the response to a request, sends it again until it is acknowledged. */
async function lose(table: string, path: string, body: unknown): Promise<void> {
  harness.killAfterCommitTo(table);
  expect((await client.post(path, body)).status).toBe(503);
  await harness.killed();
  expect((await untilStored(path, body)).status).toBe(200);
}

const old = new Date(Date.now() - 72 * 3_600_000).toISOString();
const batch = [randomUUID(), randomUUID(), randomUUID()];
const split = randomUUID();
const early = randomUUID();
const aged = randomUUID();

describe("a request that is sent again after the engine died before its response", () => {
  test("leaves one call each of a batch of whole calls", async () => {
    await lose("calls", "/call/upsert_batch", batchOf(...batch));
    expect(await callsById(batch)).toMatchObject({ ids: batch.toSorted(), count: 3 });
  });

  test("leaves one running call of a start, and one ended call of its end", async () => {
    await lose("call_parts", "/call/start", started(split));
    expect(await callsById([split])).toMatchObject({ ids: [split], count: 1, calls: [{ ended_at: null }] });
    await lose("calls", "/call/end", ended(split));
    expect(await callsById([split])).toMatchObject({ ids: [split], count: 1, calls: [{ output: "done" }] });
  });

  test("leaves one call when the closing of its open part was the last that the engine did", async () => {
    await untilStored("/call/end", ended(early));
    await lose("call_parts", "/call/start", started(early));
    expect(await callsById([early])).toMatchObject({ ids: [early], count: 1, calls: [{ output: "done" }] });
  });

  test("leaves one call when the hiding of its old version was the last that the engine did", async () => {
    await untilStored("/call/start", started(aged, old));
    await untilStored("/call/end", ended(aged));
    await lose("call_hidden", "/call/end", ended(aged, "newer"));
    expect(await callsById([aged])).toMatchObject({ ids: [aged], count: 1, calls: [{ output: "newer" }] });
  });
});

describe("after the service was killed and started again", () => {
  beforeAll(async () => {
    await harness.heddle.end("SIGKILL");
    await harness.heddle.start();
  }, 120_000);

  test("calls from before it that are sent again are there once", async () => {
    await untilStored("/call/upsert_batch", batchOf(...batch));
    await untilStored("/call/start", started(split));
    await untilStored("/call/start", started(aged, old));
    const all = [...batch, split, aged, early];
    expect(await callsById(all)).toMatchObject({ ids: all.toSorted(), count: 6 });
  });

  test("a second end replaces the first", async () => {
    for (const id of [split, aged]) {
      await untilStored("/call/end", ended(id, "second"));
      expect(await callsById([id])).toMatchObject({ ids: [id], count: 1, calls: [{ output: "second" }] });
    }
  });

  test("a changed start time moves the call, be it recent or old", async () => {
    for (const [id, from] of [
      [split, Date.now()],
      [aged, Date.parse(old)],
    ] as const) {
      const moved = new Date(from - 3_600_000).toISOString();
      await untilStored("/call/start", started(id, moved));
      const { calls, ...seen } = await callsById([id]);
      expect(seen).toEqual({ ids: [id], count: 1 });
      expect(Date.parse(calls[0]?.started_at ?? "")).toBe(Date.parse(moved));
    }
  });
});
