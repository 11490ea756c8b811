import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { afterAll, expect, test } from "vitest";
import { startService } from "../../src/boot/start.js";
import { readConfig } from "../../src/config/config.js";
import { batchOf } from "./batch-of.js";
import { finished, heddle, ownerKey } from "./heddle-process.js";
import { idsIn } from "./ids-in.js";

// What leases, projects and calls are kept in can be restored to different moments.

const root = mkdtempSync(join(tmpdir(), "heddle-restored-"));
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
const kept = ["control", "engine"];
const [now, yesterday] = [join(root, "now"), join(root, "yesterday")];
const restore = (name: string) => {
  rmSync(join(now, name), { recursive: true });
  cpSync(join(yesterday, name), join(now, name), { recursive: true });
};

mkdirSync(join(now, "control"), { recursive: true });

async function withEngine<T>(work: (settings: Record<string, string>) => Promise<T>): Promise<T> {
  const engine = await startEngineHost({ directory: join(now, "engine"), listen: { port: 0 } });
  const url = new URL(engine.url);
  [url.username, url.password] = ["default", engine.password ?? ""];
  try {
    return await work({
      HEDDLE_DATA_DIR: join(root, "data"),
      HEDDLE_DATABASE_URL: pathToFileURL(join(now, "control", "control.db")).href,
      HEDDLE_CLICKHOUSE_URL: url.href,
      HEDDLE_BLOBS_URL: join(root, "blobs"),
      HEDDLE_API_KEY: ownerKey,
      HEDDLE_PORT: "0",
      HEDDLE_OTLP_GRPC_PORT: "off",
      HEDDLE_LEASE: "3",
    });
  } finally {
    await engine.close();
  }
}

/** Runs a service, and returns what it logged. */
async function withService(settings: Record<string, string>, work: (url: string) => Promise<void>): Promise<string> {
  let log = "";
  const service = await startService(readConfig(settings), { writeLog: (line) => void (log += line) });
  try {
    await work(service.url);
  } finally {
    await service.close();
  }
  return log;
}

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
const post = async (url: string, path: string, body: unknown) =>
  await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
const write = async (url: string, project: string, id: string) =>
  expect((await post(url, "/call/upsert_batch", batchOf(project, id))).status).toBe(200);
const idsOf = async (url: string, project: string) =>
  await idsIn(await post(url, "/calls/stream_query", { project_id: `local/${project}` }));

test(
  "a restore of one of two stores is noticed: what would go wrong is refused, and what is lost is told",
  { timeout: 180_000 },
  async () => {
    await withEngine(async (settings) => await withService(settings, async (url) => await write(url, "old", "first")));
    for (const name of kept) cpSync(join(now, name), join(yesterday, name), { recursive: true });
    await withEngine(async (settings) => {
      await withService(settings, async (url) => {
        await write(url, "old", "second");
        await write(url, "new", "third");
      });

      restore("control");
      await expect(startService(readConfig(settings), { writeLog: () => {} })).rejects.toThrow(
        /^The database of keys and projects was restored to an earlier state than the tracing database main has: .*heddle shards accept/,
      );
      const { code, out } = await finished(heddle(["shards", "accept"], settings));
      expect([code, out]).toEqual([0, "local/new is in main, and is noted again.\nmain is accepted.\n"]);
      await withService(settings, async (url) => {
        expect(await idsOf(url, "old")).toEqual(["first", "second"]);
        expect(await idsOf(url, "new")).toEqual(["third"]);
        await write(url, "new", "fourth");
      });
    });

    restore("engine");
    await withEngine(async (settings) => {
      const lost =
        /The tracing database was restored to an earlier state: what was stored after \d{4}-\S+Z is not there/;
      const log = await withService(settings, async (url) => {
        expect(await idsOf(url, "old")).toEqual(["first"]);
        const check = await fetch(`${url}/v1/system-check`, { headers });
        expect(await check.text()).toMatch(lost);
        await write(url, "old", "fifth");
      });
      expect(log).toMatch(lost);
      // It was told, and both go on from there.
      await withService(settings, async (url) => expect(await idsOf(url, "old")).toEqual(["fifth", "first"]));
    });
  },
);
