import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { freePort } from "@heddle/tools/free-port";
import { afterAll, expect, test, vi } from "vitest";
import { batchOf } from "./batch-of.js";
import { finished, heddle, openHeddle, ownerKey } from "./heddle-process.js";
import type { Child, HeddleProcess } from "./heddle-process.js";
import { idsIn } from "./ids-in.js";
import { openProxy } from "./tcp-proxy.js";

// Services whose stores do not respond: when they start, and when they take over.

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });
const root = mkdtempSync(join(tmpdir(), "heddle-late-"));
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };

/** What makes a store respond; with the settings of a service that has it, and what ends it. */
type Late = () => Promise<{ env: Record<string, string>; begin: () => void; end: () => Promise<void> }>;

/** A server that nobody reaches before, whose URL is the value of `setting`. */
async function behindProxy(setting: string, server: URL, endServer: () => Promise<void>): ReturnType<Late> {
  const proxy = await openProxy({ host: server.hostname, port: Number(server.port || 5432) });
  [server.hostname, server.port] = ["127.0.0.1", String(proxy.port)];
  let begin = () => {};
  void proxy.whileCut(async () => await new Promise<void>((resolve) => (begin = resolve)));
  return {
    env: { [setting]: server.href },
    begin: () => begin(),
    async end() {
      await proxy.close();
      await endServer();
    },
  };
}

const lateClickhouse: Late = async () => {
  const engine = await startEngineHost({ directory: join(root, "engine"), listen: { port: 0 } });
  const server = new URL(engine.url);
  [server.username, server.password] = ["default", engine.password ?? ""];
  return await behindProxy("HEDDLE_CLICKHOUSE_URL", server, async () => await engine.close());
};

const latePostgres = (url: string): Late => {
  return async () => {
    const databases = postgresDatabases(url);
    const server = new URL(await databases.make());
    return await behindProxy("HEDDLE_DATABASE_URL", server, async () => await databases.drop());
  };
};

test.each([
  ["a ClickHouse server", "the tracing database", lateClickhouse],
  ...(postgresUrl === undefined ? [] : [["Postgres", "the control plane", latePostgres(postgresUrl)] as const]),
] as const)(
  "a service that is started before %s lives, says what it waits for, takes nothing, and serves once that is there",
  async (_, what, late) => {
    const { env, begin, end } = await late();
    const port = await freePort();
    const settings = { HEDDLE_PORT: String(port), HEDDLE_API_KEY: ownerKey, ...env };
    const child = heddle(["serve"], { ...settings, HEDDLE_DATA_DIR: join(root, what) });
    const said = readAll(child);
    const url = `http://127.0.0.1:${port}`;
    try {
      await expect.poll(() => said.err, { timeout: 60_000 }).toContain("Trying again for 30 s");
      expect(said.err).toContain(`${what} does not respond: no response from the `);
      // It lives and is not ready, as probes see it, and says no more of the store than what it is for.
      expect((await fetch(`${url}/live`)).status).toBe(200);
      const reason = `The service is starting: ${what} does not respond`;
      for (const request of [
        await fetch(`${url}/health`),
        await fetch(`${url}/v1/health`),
        await fetch(`${url}/call/upsert_batch`, {
          method: "POST",
          headers,
          body: JSON.stringify(batchOf("late", "no")),
        }),
      ]) {
        expect([request.status, request.headers.get("retry-after")]).toEqual([503, "1"]);
        expect(await request.json()).toEqual({ reason, detail: reason });
      }
      begin();
      await expect.poll(() => said.out, { timeout: 60_000 }).toContain("listening on");
      for (const path of ["/health", "/live"]) expect((await fetch(`${url}${path}`)).status).toBe(200);
      const body = JSON.stringify(batchOf("late", "first"));
      expect((await fetch(`${url}/call/upsert_batch`, { method: "POST", headers, body })).status).toBe(200);
      expect(said.err.match(/Trying again/g)).toHaveLength(1);
    } finally {
      const ended = finished(child);
      child.kill("SIGTERM");
      await ended;
      await end();
    }
  },
);

test("one whose stores do not come ends with status 1 after the wait it has told, with the reason and no password", async () => {
  // Who listens and never responds is as absent as who does not listen.
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as { port: number };
  const absent: Record<string, string>[] = [
    { HEDDLE_DATABASE_URL: "postgres://heddle:secret-word@127.0.0.1:1/heddle" },
    { HEDDLE_DATABASE_URL: `postgres://heddle:secret-word@127.0.0.1:${port}/heddle` },
    { HEDDLE_CLICKHOUSE_URL: "http://default:secret-word@127.0.0.1:1" },
  ];
  const ended = absent.map(async (env, i) => {
    const settings = { HEDDLE_PORT: "0", HEDDLE_API_KEY: ownerKey, HEDDLE_DATA_DIR: join(root, `absent-${i}`), ...env };
    return await finished(heddle(["serve"], settings, { storesWithinMs: 8000 }));
  });
  for (const { code, out, err } of await Promise.all(ended)) {
    expect([code, out], err).toEqual([1, ""]);
    expect(err).toContain("Trying again for 8 s");
    const [last = ""] = err.trim().split("\n").slice(-1);
    expect(last).toMatch(/^heddle: the (control plane|tracing database) does not respond: no response from the /);
    expect(err).not.toContain("secret-word");
  }
  silent.close();
});

test("a replica that takes over while the ClickHouse server is silent tries again until that responds, and then all is there once", async () => {
  const engine = await startEngineHost({ directory: join(root, "silent"), listen: { port: 0 } });
  const server = new URL(engine.url);
  const proxy = await openProxy({ host: server.hostname, port: Number(server.port) });
  [server.username, server.password, server.port] = ["default", engine.password ?? "", String(proxy.port)];
  server.hostname = "127.0.0.1";
  const env = {
    HEDDLE_CLICKHOUSE_URL: server.href,
    HEDDLE_DATABASE_URL: pathToFileURL(join(root, "silent.db")).href,
    HEDDLE_BLOBS_URL: join(root, "silent-blobs"),
    HEDDLE_REPLICA_ADDRESS: "127.0.0.1",
    HEDDLE_LEASE: "3",
  };
  const replicas: HeddleProcess[] = [];
  const write = async (url: string, id: string) => {
    const body = JSON.stringify(batchOf("silent", id));
    return await fetch(`${url}/call/upsert_batch`, { method: "POST", headers, body }).then(
      ({ status }) => status,
      () => 0,
    );
  };
  try {
    const first = await openHeddle({ env, data: join(root, "silent-a") });
    replicas.push(first);
    const next = await openHeddle({ env, data: join(root, "silent-b") });
    replicas.push(next);
    expect(await write(next.url, "acknowledged")).toBe(200);
    await proxy.whileSilent(async () => {
      const late = write(first.url, "late");
      await first.end("SIGKILL");
      expect(await late).toBe(0);
      const waits = write(next.url, "waits");
      await expect.poll(() => next.log(), { timeout: 60_000 }).toContain("cannot be opened, trying again");
      expect((await fetch(`${next.url}/health`)).status).toBe(200);
      // It is told to come again, or waits still.
      expect([503, undefined]).toContain(await Promise.race([waits, delay(100)]));
    });
    await expect.poll(async () => await write(next.url, "after"), { timeout: 60_000 }).toBe(200);
    await first.start();
    for (const { url } of replicas) {
      const body = JSON.stringify({ project_id: "local/silent" });
      const ids = await idsIn(await fetch(`${url}/calls/stream_query`, { method: "POST", headers, body }));
      expect(ids.filter((id) => id !== "waits" && id !== "late")).toEqual(["acknowledged", "after"]);
      expect(new Set(ids).size).toBe(ids.length);
    }
  } finally {
    for (const replica of replicas) await replica.remove();
    await proxy.close();
    await engine.close();
  }
});

/** What a process has written so far. */
function readAll(child: Child): { out: string; err: string } {
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  return said;
}
