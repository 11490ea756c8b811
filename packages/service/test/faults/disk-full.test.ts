import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { check } from "./check.js";
import { openHeddle } from "./heddle-process.js";
import { openLedger } from "./ledger.js";
import { random } from "./random.js";
import { wire, type Wire } from "./wire.js";
import { kindCount, writeAll } from "./writers.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-full-"));
const mounted = mount();
console.log(
  mounted
    ? "disk full: on a file system of 96 MB, mounted for this test"
    : "disk full: mounting is refused here, only the injected errors in the tests of the stores run",
);

const project_id = "faults/full";

test.runIf(mounted)(
  "a full disk: writes are told so, reads go on, writes resume when there is space, nothing acknowledged is lost",
  async () => {
    const heddle = await openHeddle({ data: directory });
    const client = wire(heddle.url);
    const ledger = openLedger();
    let stopped = false;
    try {
      const writers = writeAll({ wire: client, project_id, ledger, random: random(96), stopped: () => stopped });
      await expect.poll(() => ledger.acked().size, { timeout: 60_000 }).toBe(kindCount);
      const [somebody] = ledger.calls.keys();
      fill();
      for (const [path, body] of Object.entries(writes())) {
        await expect
          .poll(async () => (fill(), outcome(client, path, body)), { timeout: 60_000 })
          .toEqual({ status: 503, full: true, retry: true });
      }
      // A refused write gives back the blocks of its draft, so the disk is filled again before each look.
      await expect
        .poll(async () => (fill(), health(client)), { timeout: 60_000 })
        .toEqual({ status: 503, text: expect.stringMatching(/disk .* is full/) });
      expect(await client.rows("/calls/stream_query", { project_id })).not.toEqual([]);
      expect((await client.post("/call/read", { project_id, id: somebody })).status).toBe(200);

      rmSync(join(directory, "ballast"));
      for (const [path, body] of Object.entries(writes())) {
        await expect.poll(async () => (await client.post(path, body)).status, { timeout: 60_000 }).toBe(200);
      }
      await expect.poll(async () => (await client.get("/v1/system-check")).status, { timeout: 20_000 }).toBe(200);
      stopped = true;
      await writers;
      const { missing, doubled, wrong, acked, checked } = await check(client, project_id, ledger);
      console.log(
        `disk full: ${acked} acked, ${checked} checked, ${missing.length} missing, ${doubled.length} doubled`,
      );
      expect({ missing, doubled, wrong, hung: client.hung() }).toEqual({
        missing: [],
        doubled: [],
        wrong: [],
        hung: 0,
      });
    } finally {
      await heddle.remove();
      execFileSync("sh", ["-c", 'umount -l "$0"', directory]);
      rmSync(directory, { recursive: true, force: true });
    }
  },
  240_000,
);

/** A new call of a new project, an object, a table and a file: engine, control plane and blobs. */
function writes(): Record<string, object> {
  const other = `faults/${randomUUID()}`;
  const started_at = new Date().toISOString();
  const start = { project_id: other, id: "a", trace_id: "t", op_name: "w", started_at, attributes: {}, inputs: {} };
  const form = new FormData();
  form.append("project_id", project_id);
  form.append("file", new Blob([randomUUID().repeat(10_000)]), "large.txt");
  return {
    "/call/start": { start: { ...start, inputs: { text: randomUUID().repeat(1000) } } },
    "/obj/create": { obj: { project_id, object_id: "full", val: randomUUID() } },
    "/table/create": { table: { project_id, rows: [{ v: randomUUID() }] } },
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

/** Leaves not one block. */
function fill(): void {
  for (const size of [1 << 20, 1 << 12]) {
    const ballast = Buffer.alloc(size);
    try {
      while (statfsSync(directory).bavail > 0) appendFileSync(join(directory, "ballast"), ballast);
    } catch {
      // No space left on the device, as intended.
    }
  }
}

function mount(): boolean {
  try {
    execFileSync("sh", ["-c", 'mount -t tmpfs -o size=96m,mode=700 tmpfs "$0"', directory], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
