import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openDatabase, postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { EngineHost } from "@heddle/embedded-clickhouse";
import { expect } from "vitest";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { openProxy } from "./tcp-proxy.js";

export const replicaNames = ["a", "b", "c"] as const;
export type ReplicaName = (typeof replicaNames)[number];

/** Three services, each a process with a data directory of its own, that share the stores. */
export interface ReplicaSet {
  replicas: Readonly<Record<ReplicaName, HeddleProcess>>;
  databaseUrl: string;
  /** Settings that all of them share. */
  env: Readonly<Record<string, string>>;
  urlOf(name: ReplicaName): string;
  /** The replica that works on the traces, as the logs of those that run say. */
  writer(): ReplicaName;
  /** The processes of the servers that have the tracing databases; another one follows each. */
  enginePids(): number[];
  /** Runs `work` while no replica reaches the control plane. */
  whileCutOff(work: () => Promise<void>): Promise<void>;
  remove(): Promise<void>;
}

const works = "This replica works on the traces";
const passes = "Requests go to";

interface SharedControlPlane {
  url: string;
  whileCutOff: ReplicaSet["whileCutOff"];
  drop(): Promise<void>;
}

/** Where the control plane can be, with a function that makes one, for SQLite in `directory`. */
export const controlPlanes = [
  ["SQLite", onSqlite],
  ...(postgresUrl === undefined ? [] : [["Postgres", onPostgres(postgresUrl)] as const]),
] as const;

async function onSqlite(directory: string): Promise<SharedControlPlane> {
  const { href: url } = pathToFileURL(join(directory, "control.db"));
  return {
    url,
    // A file is always there, and waits for whoever writes to it.
    async whileCutOff(work) {
      const control = openDatabase(url);
      await control.transaction(async (inside) => {
        await inside.run("UPDATE leases SET beat = beat");
        await work();
      });
      await control.close();
    },
    drop: async () => {},
  };
}

function onPostgres(server: string) {
  return async (): Promise<SharedControlPlane> => {
    const databases = postgresDatabases(server);
    const url = new URL(await databases.make());
    const proxy = await openProxy({ host: url.hostname, port: Number(url.port || 5432) });
    [url.hostname, url.port] = ["127.0.0.1", String(proxy.port)];
    return {
      url: url.href,
      whileCutOff: async (work) => await proxy.whileCut(work),
      async drop() {
        await proxy.close();
        await databases.drop();
      },
    };
  };
}

interface ReplicaOptions {
  /** Names of tracing databases besides the first. */
  shards?: readonly string[];
  /** Seconds; by default the shortest lease. */
  lease?: number;
  /** How many servers have the tracing databases. */
  servers?: number;
  /** By how many hours the clock of each replica is wrong. */
  skewHours?: Readonly<Record<ReplicaName, number>>;
  /** Directory of the compiled service; default the one compiled for this test run. */
  dist?: string;
}

/** Options of a process whose wall clock is wrong; the monotonic one is not. */
function skewedClock(hours: number): string {
  const program = `const Right = Date;
    globalThis.Date = class Date extends Right {
      constructor(...parts) { if (parts.length === 0) super(Date.now()); else super(...parts); }
      static now() { return Right.now() + ${hours * 3_600_000}; }
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(program)}`;
}

export async function openReplicas(
  makeControlPlane: (directory: string) => Promise<SharedControlPlane>,
  { shards = [], lease = 3, servers = 1, skewHours, dist }: ReplicaOptions = {},
): Promise<ReplicaSet> {
  const root = mkdtempSync(join(tmpdir(), "heddle-replicas-"));
  const engines: EngineHost[] = [];
  for (let i = 0; i < servers; i++) {
    engines.push(await startEngineHost({ directory: join(root, `engine-${i}`), listen: { port: 0 } }));
  }
  const control = await makeControlPlane(root);
  const serverUrl = (position: number, path = "/") => {
    const { url = "", password = "" } = engines[position % engines.length] ?? {};
    const clickhouse = new URL(path, url);
    [clickhouse.username, clickhouse.password] = ["default", password];
    return clickhouse.href;
  };
  const shardUrl = (name: string, i: number) => `${name}=${serverUrl(i + 1, `/trace_${name}`)}`;
  const env = {
    HEDDLE_SHARDS: shards.map(shardUrl).join(",") || "none",
    HEDDLE_REPLICA_ADDRESS: "127.0.0.1",
    HEDDLE_LEASE: String(lease),
    HEDDLE_DATABASE_URL: control.url,
    HEDDLE_CLICKHOUSE_URL: serverUrl(0),
    HEDDLE_BLOBS_URL: join(root, "blobs"),
  };
  const open = async (name: ReplicaName) => {
    const hours = skewHours?.[name] ?? 0;
    const skewed = { ...env, NODE_OPTIONS: skewedClock(hours) };
    const build = dist === undefined ? {} : { dist };
    return await openHeddle({ env: hours === 0 ? env : skewed, data: join(root, name), ...build });
  };
  // All at once, on stores that are empty.
  const [a, b, c] = await Promise.all([open("a"), open("b"), open("c")]);
  const replicas = { a, b, c };
  return {
    replicas,
    env,
    databaseUrl: control.url,
    urlOf: (name) => replicas[name].url,
    writer() {
      const working = replicaNames.filter((name) => {
        const log = replicas[name].log();
        return replicas[name].pid() !== 0 && log.lastIndexOf(works) > log.lastIndexOf(passes);
      });
      expect(working).toHaveLength(1);
      return working[0]!;
    },
    enginePids: () => engines.map((engine) => engine.state().pid ?? 0),
    whileCutOff: control.whileCutOff,
    async remove() {
      for (const replica of Object.values(replicas)) await replica.remove();
      for (const engine of engines) await engine.close();
      await control.drop();
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
