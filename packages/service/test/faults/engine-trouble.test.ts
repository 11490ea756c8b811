import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { ExpectStatic } from "vitest";
import { check } from "./check.js";
import { openHarness } from "./engine-harness.js";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { openLedger } from "./ledger.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import type { Reply, Wire } from "./wire.js";
import { writeAll } from "./writers.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const projectId = "faults/trouble";
/** "Within seconds", on a machine that has other things to do. */
const seconds = 15_000;

const oneCall = () => ({
  start: {
    project_id: projectId,
    id: randomUUID(),
    trace_id: "t",
    op_name: "work",
    started_at: new Date().toISOString(),
    attributes: {},
    inputs: {},
  },
});

function expectBusy({ status, ms, headers, text }: Reply, reason: RegExp): void {
  expect({ status, text }).toEqual({ status: 503, text: expect.stringMatching(reason) });
  expect(headers.get("retry-after")).toMatch(/^\d+$/);
  expect(ms).toBeLessThan(seconds);
}

async function health(client: Wire): Promise<{ status: number; error: string | null }> {
  const { status, text } = await client.get("/v1/system-check");
  return { status, error: (JSON.parse(text) as { cpu_queue: { error: string | null } }).cpu_queue.error };
}

/** `expect` is the one of a test: several run at once. */
async function expectResumed({ poll }: ExpectStatic, client: Wire): Promise<void> {
  const { start } = oneCall();
  const body = { start: { ...start, project_id: "faults/resumed" } };
  await poll(async () => (await client.post("/call/start", body)).status, { timeout: 60_000 }).toBe(200);
  await poll(() => health(client), { timeout: 20_000 }).toEqual({ status: 200, error: null });
}

// The three wait for the limits of the service most of the time, so they do it together.
describe.concurrent("an engine host that is stopped", () => {
  let heddle: HeddleProcess;
  beforeAll(async () => (heddle = await openHeddle()));
  afterAll(() => heddle.remove());

  test("is replaced; requests have responses within seconds, and nothing acknowledged is lost", async ({ expect }) => {
    const client = wire(heddle.url);
    const ledger = openLedger();
    let stopped = false;
    const writers = writeAll({
      wire: client,
      project_id: projectId,
      ledger,
      random: random(7),
      stopped: () => stopped,
    });
    await expect.poll(() => ledger.acked().size, { timeout: 60_000 }).toBeGreaterThan(5);
    const halted = heddle.enginePid();
    process.kill(halted, "SIGSTOP");
    const [read, list, checked, alive] = await Promise.all([
      client.post("/call/read", { project_id: projectId, id: "x" }),
      client.post("/calls/query", { project_id: projectId }),
      health(client),
      client.get("/health"),
    ]);
    // A read that broke is tried once more and may meet the new engine already.
    for (const reply of [read, list]) if (reply.status !== 200) expectBusy(reply, /does not respond/);
    expect(checked).toEqual({ status: 503, error: expect.stringMatching(/no response|does not respond/) });
    expect(alive.status).toBe(200);
    await expect.poll(() => heddle.enginePid(), { timeout: 60_000 }).not.toBe(halted);
    await expectResumed(expect, client);
    stopped = true;
    await writers;
    const { missing, doubled, wrong } = await check(client, projectId, ledger);
    expect({ missing, doubled, wrong, hung: client.hung() }).toEqual({ missing: [], doubled: [], wrong: [], hung: 0 });
  }, 180_000);
});

(process.platform === "linux" ? test.concurrent : test.skip)(
  "an engine host that was stopped when its service was killed does not keep the next one from starting",
  async () => {
    const heddle = await openHeddle();
    try {
      const client = wire(heddle.url);
      const call = oneCall();
      expect((await client.post("/call/start", call)).status).toBe(200);
      process.kill(heddle.enginePid(), "SIGSTOP");
      await heddle.end("SIGKILL");
      await heddle.start();
      const { count } = await client.ask<{ count: number }>("/calls/query_stats", { project_id: projectId });
      expect(count).toBe(1);
    } finally {
      await heddle.remove();
    }
  },
);

describe.concurrent("an engine that responds late or has no memory", () => {
  let harness: Awaited<ReturnType<typeof openHarness>>;
  let client: Wire;
  beforeAll(async () => {
    harness = await openHarness({ memoryBytes: 400_000_000 });
    client = wire(harness.url);
  }, 120_000);
  afterAll(() => harness.close());

  test.sequential("late: writes get a 503 within seconds, reads go on, writes resume by themselves", async ({
    expect,
  }) => {
    const call = oneCall();
    expect((await client.post("/call/start", call)).status).toBe(200);
    const release = harness.holdInserts();
    const held = client.post("/call/start", oneCall());
    await expect.poll(harness.heldInserts).toBe(1);
    // The second waits behind the first.
    const [first, second] = await Promise.all([held, client.post("/call/start", oneCall())]);
    expectBusy(first, /takes? too long|too slow/);
    expectBusy(second, /takes? too long|too slow/);
    expect((await client.post("/call/read", { project_id: projectId, id: call.start.id })).status).toBe(200);
    release();
    await expectResumed(expect, client);
  }, 120_000);

  test.sequential("no memory: writes get a 503 that says so, and resume when there is some again", async ({
    expect,
  }) => {
    // Memory that another table keeps: the engine's cap counts all of it.
    await harness.query("CREATE TABLE default.hog (text String) ENGINE = Memory");
    let full = "";
    // Smaller pieces the engine does not count one by one.
    for (const rows of [5000, 1000]) {
      const insert = `INSERT INTO default.hog SELECT randomString(10000) FROM numbers(${rows})`;
      full = "";
      for (let tries = 0; tries < 100 && full === ""; tries++) {
        full = await harness.query(insert).then(
          () => "",
          (error: unknown) => String(error),
        );
      }
    }
    expect(full).toMatch(/MEMORY_LIMIT_EXCEEDED|memory limit exceeded/);
    const text = "x".repeat(8_000_000);
    const call = oneCall();
    const large = { start: { ...call.start, inputs: { text } } };
    expectBusy(await client.post("/call/start", large), /out of memory/);
    // Health tries a small write, for which there may be memory left.
    const { status, error } = await health(client);
    if (status !== 200) expect({ status, error }).toEqual({ status: 503, error: expect.stringMatching(/memory/) });
    await harness.query("DROP TABLE default.hog SYNC");
    await expect.poll(async () => (await client.post("/call/start", large)).status, { timeout: 60_000 }).toBe(200);
    await expectResumed(expect, client);
  }, 180_000);
});
