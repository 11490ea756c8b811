import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, inject, test, vi } from "vitest";
import { quietClient } from "../test/quiet-client.js";
import { backgroundNice, mergeThreads } from "./engine/background-threads.js";
import { startEngineHost } from "./engine-host.js";
import type { EngineHost } from "./index.js";

// Each test starts processes, which takes long on a machine that has other work.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const cleanups: Array<() => Promise<unknown> | void> = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "heddle-host-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function startHost(options: Partial<Parameters<typeof startEngineHost>[0]> = {}): Promise<EngineHost> {
  const host = await startEngineHost({
    directory: newDirectory(),
    memoryBytes: 1_500_000_000,
    ...options,
  });
  cleanups.push(() => host.close());
  return host;
}

function clientOf(host: EngineHost): ReturnType<typeof quietClient> {
  const client = quietClient(host.clientOptions());
  cleanups.push(() => client.close());
  return client;
}

const durable =
  "fsync_after_insert=1, fsync_part_directory=1, min_rows_to_fsync_after_merge=1, " +
  "max_suspicious_broken_parts=1000000, old_parts_lifetime=60";

async function countRows(client: ReturnType<typeof quietClient>): Promise<number> {
  const result = await client.query({ query: "SELECT count() FROM t", format: "TabSeparated" });
  return Number(await result.text());
}

/** The compiled package, for programs of their own. */
const index = (): string =>
  JSON.stringify(pathToFileURL(join(inject("compiled"), "@heddle/embedded-clickhouse/dist/index.js")).href);

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// Most of them wait for processes, so several do it at once.
describe.concurrent("an engine host", () => {
  test("a killed engine comes back with every acknowledged row", async () => {
    const host = await startHost();
    const client = clientOf(host);
    await client.command({
      query: `CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a SETTINGS ${durable}`,
    });
    let acknowledged = 0;
    const restarted = new Promise<void>((resolve) => host.on("restart", resolve));
    const writing = (async (): Promise<void> => {
      for (;;) {
        const values = Array.from({ length: 100 }, (_, index) => ({ a: acknowledged + index }));
        await client.insert({ table: "t", values, format: "JSONEachRow" });
        acknowledged += 100;
        if (acknowledged === 500) process.kill(host.state().pid ?? 0, "SIGKILL");
      }
    })();
    await expect(writing).rejects.toThrow(/socket hang up|ECONNRE|ENOENT|EPIPE/);
    const failed = performance.now();
    await expect(client.query({ query: "SELECT 1" })).rejects.toThrow(/ECONNREFUSED|ENOENT|ECONNRESET/);
    expect(performance.now() - failed).toBeLessThan(1000);
    await restarted;
    expect(acknowledged).toBeGreaterThanOrEqual(500);
    // One insert more may be there: it was written, and its response was lost.
    expect([acknowledged, acknowledged + 100]).toContain(await countRows(client));
    expect(host.state()).toMatchObject({ status: "ready", restarts: 1 });
    expect(host.state().lastError).toContain("SIGKILL");
  });

  test("merges and mutations yield to statements", async () => {
    const host = await startHost();
    await clientOf(host).command({ query: "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a" });
    const pid = host.state().pid ?? 0;
    const niceness = () => mergeThreads(pid).map((thread) => getPriority(thread) - getPriority(pid));
    const expected = process.platform === "linux" ? [backgroundNice, backgroundNice] : [];
    await expect.poll(niceness, { timeout: 30_000 }).toEqual(expected);
  });

  test("an engine that hangs is killed and started again", async () => {
    const host = await startHost();
    const client = clientOf(host);
    const hung = host.state().pid ?? 0;
    const restarted = new Promise<void>((resolve) => host.on("restart", resolve));
    process.kill(hung, "SIGSTOP");
    await restarted;
    expect(isAlive(hung)).toBe(false);
    expect(host.state().lastError).toMatch(/did not respond/);
    expect(await client.ping({ select: true })).toEqual({ success: true });
  });

  test("parts are compressed fast while they are small, and well once they are large", async () => {
    const client = clientOf(await startHost());
    await client.command({ query: "CREATE TABLE t (text String) ENGINE = MergeTree ORDER BY tuple()" });
    const codecs = async () => {
      const query = "SELECT DISTINCT default_compression_codec AS codec FROM system.parts WHERE active AND table = 't'";
      const rows = await (await client.query({ query, format: "JSONEachRow" })).json<{ codec: string }>();
      return rows.map(({ codec }) => codec);
    };
    // Bytes that no codec makes fewer.
    for (let half = 0; half < 2; half++) {
      await client.command({ query: "INSERT INTO t SELECT randomString(36000) FROM numbers(1000)" });
    }
    expect(await codecs()).toEqual(["LZ4"]);
    await client.command({ query: "OPTIMIZE TABLE t FINAL" });
    expect(await codecs()).toEqual(["ZSTD(1)"]);
  });

  test("only this user reaches the socket, and it is removed when the host has closed", async () => {
    const host = await startHost();
    const path = host.socketPath ?? "";
    expect(statSync(path).mode & 0o077).toBe(0);
    expect(statSync(dirname(path)).mode & 0o077).toBe(0);
    await host.close();
    expect(existsSync(path)).toBe(false);
  });

  test("a host that closes lets running queries end", async ({ expect }) => {
    const host = await startHost();
    const client = clientOf(host);
    const query = "SELECT count() AS n FROM numbers(20) WHERE NOT ignore(sleepEachRow(0.05))";
    const running = client.query({ query, format: "JSONEachRow" }).then((result) => result.json());
    const others = clientOf(host);
    const queries = "SELECT count() FROM system.processes WHERE query LIKE '%sleepEachRow%'";
    await expect
      .poll(async () => Number(await (await others.query({ query: queries, format: "TabSeparated" })).text()))
      .toBe(2);
    const { pid } = host.state();
    await host.close();
    expect(await running).toEqual([{ n: "20" }]);
    expect(isAlive(pid)).toBe(false);
    expect(host.state().status).toBe("closed");
  });

  test("rows outlive the host", async () => {
    const directory = newDirectory();
    const first = await startHost({ directory });
    const writer = clientOf(first);
    await writer.command({ query: "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a" });
    await writer.insert({ table: "t", values: [{ a: 1 }], format: "JSONEachRow" });
    await first.close();
    expect(await countRows(clientOf(await startHost({ directory })))).toBe(1);
  });

  test("what the embedded engine cannot do is refused by name", async () => {
    const client = clientOf(await startHost());
    const query = client.query({ query: "SELECT 1", session_id: "s" });
    await expect(query).rejects.toMatchObject({ code: "48", type: "NOT_IMPLEMENTED" });
  });

  test("a directory with a long path gets its socket in another directory", async () => {
    const directory = join(newDirectory(), "long".repeat(30));
    const host = await startHost({ directory });
    expect(host.socketPath).not.toContain("longlong");
    expect(await clientOf(host).ping({ select: true })).toEqual({ success: true });
  });

  test("on a port the host asks for its password, and keeps both over a restart", async () => {
    const host = await startHost({ listen: { port: 0 } });
    const options = host.clientOptions();
    expect(await clientOf(host).ping({ select: true })).toEqual({ success: true });
    const get = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${host.url}/?query=SELECT+1`, { headers });
    const key = host.password ?? "";
    expect((await get({ "X-ClickHouse-User": "default", "X-ClickHouse-Key": key })).status).toBe(200);
    const big = await fetch(`${host.url}/?query=SELECT+toUInt64(1)+AS+n+FORMAT+JSONEachRow`, {
      headers: { "X-ClickHouse-Key": key },
    });
    expect(await big.text()).toBe('{"n":"1"}\n');
    const refused = await get({});
    expect([refused.status, refused.headers.get("x-clickhouse-exception-code")]).toEqual([403, "516"]);
    const stranger = quietClient({ ...options, password: "guess" });
    await expect(stranger.query({ query: "SELECT 1" })).rejects.toMatchObject({ code: "516" });
    await stranger.close();
    const restarted = new Promise<void>((resolve) => host.on("restart", resolve));
    process.kill(host.state().pid ?? 0, "SIGKILL");
    await restarted;
    expect(await clientOf(host).ping({ select: true })).toEqual({ success: true });
  });

  test("a second engine on the same directory is refused with the reason", async () => {
    const directory = newDirectory();
    const host = await startHost({ directory });
    await expect(startEngineHost({ directory })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(`did not start: .*in use by process ${host.state().pid}`),
    });
    expect(await clientOf(host).ping({ select: true })).toEqual({ success: true });
  });

  test("the engine ends with its parent, and the next one gets the directory", async ({ expect }) => {
    const directory = newDirectory();
    const script = `import(${index()}).then(async ({ startEngineHost }) => {
    const host = await startEngineHost({ directory: ${JSON.stringify(directory)} });
    process.stdout.write(String(host.state().pid));
  })`;
    const parent = spawn(process.execPath, ["-e", script]);
    const [pid] = (await once(parent.stdout, "data")) as [Buffer];
    parent.kill("SIGKILL");
    expect(await clientOf(await startHost({ directory })).ping()).toEqual({ success: true });
    await expect.poll(() => isAlive(Number(pid)), { timeout: 20_000 }).toBe(false);
  });

  test("where the engine cannot be loaded the error is one line with what to do", async () => {
    // The loader looks for the platform's package by this name; there is none for this one.
    const script = `import(${index()}).then(({ startEngineHost }) =>
    startEngineHost({ directory: ${JSON.stringify(newDirectory())} }).catch((error) => console.log(error.code, error.message)))`;
    const preload = "data:text/javascript,Object.defineProperty(process,'arch',{value:'mips'})";
    const output = await new Promise<string>((resolve) => {
      execFile(
        process.execPath,
        ["-e", script],
        { env: { ...process.env, NODE_OPTIONS: `--import "${preload}"` } },
        (_error, stdout) => resolve(stdout),
      );
    });
    expect(output).toMatch(/^unsupported The embedded ClickHouse engine \(chDB\) does not run here \(linux-mips\)/);
    expect(output).toContain("HEDDLE_CLICKHOUSE_URL");
  });
});
