import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFailed, test } from "vitest";
import { check } from "./check.js";
import { openHarness } from "./engine-harness.js";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { openLedger } from "./ledger.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import type { Wire } from "./wire.js";
import { kindCount, writeAll } from "./writers.js";

/** A service whose disk can be filled. */
interface Disk {
  heddle: HeddleProcess;
  /** Leaves not one block; to be repeated, as a refused write gives back those of its draft. */
  fill(): void;
  free(): void;
  close(): Promise<void>;
}

const directory = mkdtempSync(join(tmpdir(), "heddle-full-"));
const mounted = mount();
afterAll(() => {
  if (mounted) execFileSync("sh", ["-c", 'umount -l "$0"', directory]);
  rmSync(directory, { recursive: true, force: true });
});
const disks: Record<string, () => Promise<Disk>> = {
  ...(mounted && { "on a file system of 96 MB, mounted for this test": openMounted }),
  "by the engine's own error for it, injected": openInjected,
};
console.log(`disk full: ${Object.keys(disks).join("; and ")}${mounted ? "" : " (mounting is refused here)"}`);

const projectId = "faults/full";

test.each(Object.keys(disks))(
  "a disk that is full, %s: writes get a 503 that says so, reads go on, writes resume when there is space, nothing acknowledged is lost",
  async (kind) => {
    const disk = await disks[kind]?.();
    if (disk === undefined) throw new Error("no such disk");
    onTestFailed(() => console.log(disk.heddle.log().slice(-20_000)));
    const client = wire(disk.heddle.url);
    const ledger = openLedger();
    let stopped = false;
    try {
      const writers = writeAll({
        wire: client,
        project_id: projectId,
        ledger,
        random: random(96),
        stopped: () => stopped,
      });
      await expect.poll(() => ledger.acked().size, { timeout: 60_000 }).toBe(kindCount);
      // Those of the writers may have ended or been deleted.
      const start = { project_id: "faults/kept", id: "kept", trace_id: "t", op_name: "w", attributes: {}, inputs: {} };
      await client.ask("/call/start", { start: { ...start, started_at: new Date().toISOString() } });
      disk.fill();
      for (const [path, body] of Object.entries(writes())) {
        await expect
          .poll(async () => (disk.fill(), outcome(client, path, body)), { timeout: 60_000 })
          .toEqual({ status: 503, full: true, retry: true });
      }
      await expect
        .poll(async () => (disk.fill(), health(client)), { timeout: 60_000 })
        .toEqual({ status: 503, text: expect.stringMatching(/disk .* is full/) });
      // Not at once where a write had begun: the engine then starts anew.
      await expect
        .poll(() => client.post("/call/read", { project_id: start.project_id, id: "kept" }), { timeout: 20_000 })
        .toMatchObject({ status: 200, text: expect.stringContaining('"kept"') });
      expect(await client.rows("/calls/stream_query", { project_id: start.project_id })).toHaveLength(1);

      disk.free();
      for (const [path, body] of Object.entries(writes())) {
        await expect.poll(async () => (await client.post(path, body)).status, { timeout: 60_000 }).toBe(200);
      }
      await expect.poll(async () => (await client.get("/v1/system-check")).status, { timeout: 20_000 }).toBe(200);
      stopped = true;
      await writers;
      const { missing, doubled, wrong, acked, checked } = await check(client, projectId, ledger);
      console.log(
        `disk full, ${kind}: ${acked} acked, ${checked} checked, ${missing.length} missing, ${doubled.length} doubled`,
      );
      expect({ missing, doubled, wrong, hung: client.hung() }).toEqual({
        missing: [],
        doubled: [],
        wrong: [],
        hung: 0,
      });
    } finally {
      stopped = true;
      await disk.close();
    }
  },
  240_000,
);

/** A new call of a new project, an object, a table and a file: engine, control plane and blobs. */
function writes(): Record<string, object> {
  const other = `faults/${randomUUID()}`;
  const startedAt = new Date().toISOString();
  const start = {
    project_id: other,
    id: "a",
    trace_id: "t",
    op_name: "w",
    started_at: startedAt,
    attributes: {},
    inputs: {},
  };
  const form = new FormData();
  form.append("project_id", projectId);
  form.append("file", new Blob([randomUUID().repeat(10_000)]), "large.txt");
  return {
    "/call/start": { start: { ...start, inputs: { text: randomUUID().repeat(1000) } } },
    "/obj/create": { obj: { project_id: projectId, object_id: "full", val: randomUUID() } },
    "/table/create": { table: { project_id: projectId, rows: [{ v: randomUUID() }] } },
    "/file/create": form,
  };
}

async function outcome(client: Wire, path: string, body: unknown) {
  const { status, text, headers } = await client.post(path, body);
  return { status, full: /disk .* is full/.test(text), retry: headers.has("retry-after") };
}

async function health(client: Wire) {
  const { status, text } = await client.get("/v1/system-check");
  return { status, text };
}

async function openMounted(): Promise<Disk> {
  const heddle = await openHeddle({ data: directory });
  const ballast = join(directory, "ballast");
  return {
    heddle,
    fill() {
      for (const size of [1 << 20, 1 << 12]) {
        const piece = Buffer.alloc(size);
        try {
          while (statfsSync(directory).bavail > 0) appendFileSync(ballast, piece);
        } catch {
          // No space left on the device, as intended.
        }
      }
    },
    free: () => rmSync(ballast),
    close: () => heddle.remove(),
  };
}

async function openInjected(): Promise<Disk> {
  const harness = await openHarness();
  return {
    heddle: harness.heddle,
    fill: () => harness.setFull(true),
    free: () => harness.setFull(false),
    close: () => harness.close(),
  };
}

function mount(): boolean {
  try {
    execFileSync("sh", ["-c", 'mount -t tmpfs -o size=96m,mode=700 tmpfs "$0"', directory], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
