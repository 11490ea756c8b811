import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { check } from "./check.js";
import { finished, heddle, openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { openLedger } from "./ledger.js";
import type { Ledger } from "./ledger.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import type { Wire } from "./wire.js";
import { kindCount, writeAll } from "./writers.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), "heddle-backup-"));
const [backup, data] = [join(directory, "backup"), join(directory, "data")];
const quiet = "faults/quiet";
const busy = "faults/busy";
let before: HeddleProcess;
beforeAll(async () => (before = await openHeddle()));
afterAll(async () => {
  await before.remove();
  rmSync(directory, { recursive: true, force: true });
});

const run = (args: string[], dataDir: string) => finished(heddle(args, { HEDDLE_DATA_DIR: dataDir }));

function write(client: Wire, projectId: string, ledger: Ledger, seed: number) {
  let stopped = false;
  const writers = writeAll({
    wire: client,
    project_id: projectId,
    ledger,
    random: random(seed),
    stopped: () => stopped,
  });
  return {
    all: () => expect.poll(() => ledger.acked().size, { timeout: 60_000 }).toBe(kindCount),
    async stop() {
      stopped = true;
      await writers;
    },
  };
}

/** Everything that the API returns of a project. */
async function picture(client: Wire, projectId: string) {
  const calls = await client.rows<{ id: string }>("/calls/stream_query", { project_id: projectId });
  const { objs } = await client.ask<{ objs: unknown[] }>("/objs/query", { project_id: projectId });
  const files = await client.ask<unknown>("/files/query_stats", { project_id: projectId });
  return { calls: calls.toSorted((a, b) => a.id.localeCompare(b.id)), objs, files };
}

test("a backup of a running, busy instance restores to what was there when it began", async () => {
  const client = wire(before.url);
  const [still, moving] = [openLedger(), openLedger()];
  const first = write(client, quiet, still, 1);
  await first.all();
  await first.stop();
  const created = await run(["keys", "create", "--user", "ann", "--entity", "faults", "--role", "read"], before.data);
  const secret = /secret {2}(\S+)/.exec(created.out)?.[1] ?? "";
  const second = write(client, busy, moving, 2);
  await second.all();

  // What is acknowledged now must be in the backup; what comes while it is made may be.
  // One that was killed long ago has left its copy of the traces behind.
  mkdirSync(join(before.data, "clickhouse", "backups", "heddle-7-1700000000000"), { recursive: true });
  const [began, contents] = [structuredClone(moving.calls), [...moving.contents]];
  const { code, out, err } = await run(["backup", backup], before.data);
  expect({ code, err }, out).toEqual({ code: 0, err: "" });
  await second.stop();
  expect(readdirSync(join(before.data, "clickhouse", "backups"))).toEqual([]);
  expect(await run(["backup", backup], before.data)).toMatchObject({
    code: 1,
    err: `heddle: the backup directory ${backup} is not empty.\n`,
  });

  expect(await run(["restore", backup], data)).toMatchObject({ code: 0, err: "" });
  expect(await run(["restore", backup], data)).toMatchObject({
    code: 1,
    err: `heddle: the data directory ${data} is not empty.\n`,
  });
  const after = await openHeddle({ data });
  try {
    const restored = wire(after.url);
    expect(await picture(restored, quiet)).toEqual(await picture(client, quiet));
    const verdict = await check(restored, quiet, still);
    expect(verdict).toMatchObject({ missing: [], doubled: [], wrong: [] });
    // Calls that were written while it was made may be in it; those must be whole and there once. So may what was deleted then.
    const mayBeDeleted = (id: string) =>
      moving.calls.get(id)?.deletion !== undefined && began.get(id)?.deletion !== "acknowledged";
    const inBackup = (calls: Ledger["calls"]): Ledger["calls"] =>
      new Map([...calls].map(([id, entry]) => [id, mayBeDeleted(id) ? { ...entry, deletion: "sent" } : entry]));
    const acked = { ...openLedger(), calls: inBackup(began), contents };
    const { missing, doubled, checked } = await check(restored, busy, acked);
    expect({ missing, doubled }).toEqual({ missing: [], doubled: [] });
    const { wrong } = await check(restored, busy, { ...moving, calls: inBackup(moving.calls), contents: [] });
    expect(wrong).toEqual([]);
    const read = await fetch(`${after.url}/call/read`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ project_id: quiet, id: "x" }),
    });
    expect(read.status).toBe(200);
    console.log(`backup: ${verdict.checked + checked} checked after the restore, ${missing.length} missing`);
    // It goes on where it was: what is sent again is there once, and new writes work.
    const more = write(restored, quiet, openLedger(), 3);
    await more.all();
    await more.stop();
  } finally {
    await after.remove();
  }
}, 240_000);

test("a backup with a corrupted, a missing or an unknown file is refused before anything is written", async () => {
  const target = join(directory, "never");
  const all = readdirSync(backup, { recursive: true, encoding: "utf8" });
  const rows = all.find((path) => path.endsWith(".bin")) ?? "";
  const blob = all.find((path) => /^files\/sha256\/.*\/.*[0-9a-f]{32}/.test(path)) ?? "";
  const changes: Array<[what: string, path: string, change: (file: string) => void]> = [
    ["is not as it was written", rows, flipByte],
    ["is not as it was written", "control.db", flipByte],
    ["is missing", blob, (file) => rmSync(file)],
    ["is not as it was written", "traces/more", (file) => writeFileSync(file, "")],
  ];
  for (const [what, path, change] of changes) {
    const corrupted = join(directory, "corrupted");
    cpSync(backup, corrupted, { recursive: true });
    change(join(corrupted, path));
    const { code, err } = await run(["restore", corrupted], target);
    expect({ code, err }).toEqual({ code: 1, err: `heddle: the backup ${corrupted} is corrupt: ${path} ${what}.\n` });
    rmSync(corrupted, { recursive: true });
  }
  expect(existsSync(target)).toBe(false);
});

function flipByte(file: string): void {
  const bytes = readFileSync(file);
  const last = bytes.length - 1;
  bytes.writeUInt8((bytes.at(last) ?? 0) ^ 1, last);
  writeFileSync(file, bytes);
}

test("what is not a backup, a path that cannot be written, and a restore that did not finish, are one clear line", async () => {
  const empty = join(directory, "empty");
  mkdirSync(empty);
  expect(await run(["restore", empty], join(directory, "other"))).toMatchObject({
    code: 1,
    err: `heddle: ${empty} has no manifest.json: it is not a backup, or one that did not finish.\n`,
  });
  const below = join(directory, "file", "below");
  writeFileSync(join(directory, "file"), "");
  const { code, err } = await run(["backup", below], before.data);
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^heddle: ENOTDIR: .*\n$/) });
  const half = join(directory, "half");
  mkdirSync(half);
  writeFileSync(join(half, "restoring"), "");
  expect(await run(["serve"], half)).toMatchObject({
    code: 1,
    err: `heddle: a restore into ${half} did not finish. Empty the directory and restore again.\n`,
  });
});
