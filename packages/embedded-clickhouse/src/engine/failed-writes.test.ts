import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { startEngineHost } from "../engine-host.js";
import { quietClient } from "../../test/quiet-client.js";
import type { EngineHost } from "../index.js";

// Each test restarts a process, which takes long on a machine that has other work.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const directory = mkdtempSync(join(tmpdir(), "heddle-failed-writes-"));
let host: EngineHost;
let client: ReturnType<typeof quietClient>;
beforeAll(async () => {
  host = await startEngineHost({ directory, memoryBytes: 1_500_000_000 });
  client = quietClient(host.clientOptions());
});
afterAll(async () => {
  await client.close();
  await host.close();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(async () => {
  await client.command({ query: "DROP TABLE IF EXISTS t SYNC" });
  await client.command({
    query: `CREATE TABLE t (a UInt64, text String CODEC(NONE)) ENGINE = MergeTree ORDER BY a SETTINGS
      fsync_after_insert=1, fsync_part_directory=1, max_suspicious_broken_parts=1000000, old_parts_lifetime=60`,
  });
  await insert(1);
  await insert(2);
});

const kilobytes = 200;

async function insert(a: number): Promise<void> {
  const values = [{ a, text: "x".repeat(kilobytes * 1000) }];
  await client.insert({ table: "t", values, format: "JSONEachRow" });
}

async function rows(): Promise<unknown> {
  const result = await client.query({ query: "SELECT a, length(text) AS n FROM t ORDER BY a", format: "JSONEachRow" });
  return await result.json();
}

const stored = (...values: number[]) => values.map((a) => ({ a: `${a}`, n: `${kilobytes * 1000}` }));

/** Lets this host's writes beyond a file size fail, as those to a full disk do, while `work` fails; then waits for the next host. */
async function withFailingWrites(work: () => Promise<unknown>): Promise<void> {
  const restarted = new Promise<void>((resolve) => host.on("restart", resolve));
  execFileSync("prlimit", [`--pid=${host.state().pid}`, `--fsize=${kilobytes * 500}`]);
  await expect(work()).rejects.toThrow(/socket hang up|ECONNRE|EPIPE/);
  await restarted;
  expect(host.state().lastError).toContain("a write to the disk failed");
}

test("an insert of which the disk took only a part is not acknowledged, and nothing of it is left", async () => {
  await withFailingWrites(() => insert(3));
  expect(await rows()).toEqual(stored(1, 2));
  await insert(3);
  expect(await rows()).toEqual(stored(1, 2, 3));
});

test("a merge of which the disk took only a part is undone", async () => {
  await withFailingWrites(() => client.command({ query: "OPTIMIZE TABLE t FINAL" }));
  expect(await rows()).toEqual(stored(1, 2));
});

test("a merge in the background of which the disk took only a part is noticed and undone", async () => {
  const all = Array.from({ length: 12 }, (_, index) => index + 1);
  await client.command({ query: "SYSTEM STOP MERGES t" });
  for (const a of all.slice(2)) await insert(a);
  await withFailingWrites(async () => {
    await client.command({ query: "SYSTEM START MERGES t" });
    for (;;) {
      await client.query({ query: "SELECT 1" });
      await delay(50);
    }
  });
  expect(await rows()).toEqual(stored(...all));
});
