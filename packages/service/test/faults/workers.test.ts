import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { batchOf } from "./batch-of.js";
import { idsIn } from "./ids-in.js";
import { finished, heddle, openHeddle, ownerKey } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";

// One service of one machine whose work two processes do, each with an engine of its own.

const polling = { timeout: 30_000, interval: 200 };
const projects = ["first", "second"] as const;

describe("HEDDLE_WORKERS=2", { timeout: 120_000 }, () => {
  const root = mkdtempSync(join(tmpdir(), "heddle-workers-"));
  const data = join(root, "data");
  const env = { HEDDLE_WORKERS: "2" };
  let service: HeddleProcess;
  beforeAll(async () => (service = await openHeddle({ env, data })), 90_000);
  afterAll(async () => {
    await service.remove();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });

  async function members(): Promise<{ holder: string; responds: boolean; shards: string[] }[]> {
    const { out } = await finished(heddle(["members", "--json"], { ...env, HEDDLE_DATA_DIR: data }));
    return JSON.parse(out) as { holder: string; responds: boolean; shards: string[] }[];
  }
  const shardsOf = async () =>
    (await members())
      .filter(({ responds }) => responds)
      .map(({ shards }) => shards.join())
      .toSorted();
  const pidOf = ({ holder }: { holder: string }): number => Number(/process (\d+)/.exec(holder)?.[1]);

  test("two processes work on a tracing database each, and new projects are spread over them", async () => {
    await expect.poll(shardsOf, polling).toEqual(["main", "worker-2"]);
    for (const project of projects) expect(await write(service.url, project, "first-call")).toBe(200);
    const { out } = await finished(heddle(["shards", "--json"], { ...env, HEDDLE_DATA_DIR: data }));
    expect(JSON.parse(out)).toEqual(["main", "worker-2"].map((name) => ({ name, open: true, projects: 1 })));
  });

  test("what is acknowledged over one connection is there over every other one", async () => {
    for (let i = 0; i < 20; i++) {
      const project = projects[i % 2]!;
      expect(await write(service.url, project, `call-${i}`)).toBe(200);
      expect(await idsOf(service.url, project)).toContain(`call-${i}`);
    }
  });

  test("connections are answered while a killed worker is not yet missed", async () => {
    await expect.poll(shardsOf, polling).toEqual(["main", "worker-2"]);
    const victim = (await members()).find(({ shards }) => shards.includes("worker-2"))!;
    process.kill(service.pid(), "SIGSTOP");
    try {
      process.kill(pidOf(victim), "SIGKILL");
      await expect.poll(() => isRunning(pidOf(victim)), polling).toBe(false);
      const signal = AbortSignal.timeout(30_000);
      const responses = Array.from(
        { length: 10 },
        async () => await fetch(`${service.url}/health`, { headers, signal }),
      );
      expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(responses.map(() => 200));
    } finally {
      process.kill(service.pid(), "SIGCONT");
    }
    await expect.poll(shardsOf, polling).toEqual(["main", "worker-2"]);
  });

  test("a worker that is killed is replaced, and what it had is worked on without waiting for its lease", async () => {
    const victim = (await members()).find(({ shards }) => shards.includes("worker-2"))!;
    const before = await Promise.all(projects.map(async (project) => await idsOf(service.url, project)));
    process.kill(pidOf(victim), "SIGKILL");
    const killedAt = performance.now();
    expect(await write(service.url, "second", "after-the-kill")).toBe(200);
    console.log(`a killed worker's calls are stored again after ${Math.round(performance.now() - killedAt)} ms`);
    expect(await idsOf(service.url, "first")).toEqual(before[0]);
    expect(await idsOf(service.url, "second")).toEqual([...before[1]!, "after-the-kill"].toSorted());
    await expect.poll(shardsOf, polling).toEqual(["main", "worker-2"]);
    expect(service.log()).toContain("has ended with signal SIGKILL: starting another one");
  });

  test("a stop leaves no process, and what was stored is there with more and with fewer workers", async () => {
    const [before, running] = [await idsOf(service.url, "second"), await members()];
    const { code, err } = await service.end("SIGTERM");
    expect(code, err).toBe(0);
    for (const member of running) expect(() => process.kill(pidOf(member), 0)).toThrow();

    const alone = await finished(heddle(["serve"], { HEDDLE_DATA_DIR: data, HEDDLE_PORT: "0" }));
    expect(alone.code).toBe(1);
    expect(alone.err).toMatch(/^heddle: HEDDLE_WORKERS: .*worker-2 .*set it to 2 or more again\.\n$/);

    const backup = join(root, "backup");
    const copy = join(root, "copy");
    expect((await finished(heddle(["backup", backup], { HEDDLE_DATA_DIR: data }))).code).toBe(0);
    expect((await finished(heddle(["restore", backup], { HEDDLE_DATA_DIR: copy }))).code).toBe(0);
    for (const [directory, workers] of [
      [copy, "3"],
      [copy, "2"],
    ] as const) {
      const next = await openHeddle({ env: { HEDDLE_WORKERS: workers }, data: directory });
      try {
        expect(await idsOf(next.url, "second")).toEqual(before);
        expect(await write(next.url, "second", `with-${workers}`)).toBe(200);
        before.push(`with-${workers}`);
        before.sort();
      } finally {
        await next.end("SIGTERM");
      }
    }
    await service.start();
  });

  test("what excludes workers is refused in one line", async () => {
    const refused = async (more: Record<string, string>) => {
      const settings = { HEDDLE_WORKERS: "2", HEDDLE_DATA_DIR: join(root, "none"), HEDDLE_PORT: "0", ...more };
      const { code, err } = await finished(heddle(["serve"], settings));
      expect(code).toBe(1);
      expect(err.trim().split("\n")).toHaveLength(1);
      return err;
    };
    expect(await refused({ HEDDLE_WORKERS: "0" })).toContain("HEDDLE_WORKERS");
    expect(await refused({ HEDDLE_ENGINE_MEMORY: "1GB" })).toContain("HEDDLE_ENGINE_MEMORY");
    expect(await refused({ HEDDLE_REPLICA_ADDRESS: "127.0.0.1" })).toContain("HEDDLE_REPLICA_ADDRESS");
    expect(await refused({ HEDDLE_DATA_DIR: data })).toContain("in use by process");
  });
});

test("without HEDDLE_WORKERS a data directory has what it always had", async () => {
  const service = await openHeddle();
  try {
    expect(readdirSync(service.data).filter((name) => /^(workers|clickhouse-)/.test(name))).toEqual([]);
    expect(service.log()).not.toContain("worker");
  } finally {
    await service.remove();
  }
});

/** One that has ended and whose end nobody has asked for runs no more. */
function isRunning(pid: number): boolean {
  return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

const headers = {
  authorization: `Bearer ${ownerKey}`,
  "content-type": "application/json",
  // Each request over a connection of its own, so that it comes to any worker.
  connection: "close",
};

async function post(url: string, path: string, body: unknown): Promise<Response> {
  for (let attempts = 0; ; attempts++) {
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) }).catch(
      () => undefined,
    );
    if (response !== undefined && (response.status !== 503 || attempts >= 20)) return response;
    await response?.text();
    await delay(500);
  }
}

async function write(url: string, project: string, id: string): Promise<number> {
  const response = await post(url, "/call/upsert_batch", batchOf(project, id));
  await response.text();
  return response.status;
}

async function idsOf(url: string, project: string): Promise<string[]> {
  return await idsIn(await post(url, "/calls/stream_query", { project_id: `local/${project}` }));
}
