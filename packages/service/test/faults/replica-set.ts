import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { expect } from "vitest";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";

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
  /** The process of the server that has the tracing databases; another one follows it. */
  enginePid(): number;
  remove(): Promise<void>;
}

const works = "This replica works on the traces";
const passes = "Requests go to";

/** Where the control plane can be: with a function that makes one in `directory`, and says how to remove it. */
export const controlPlanes = [
  [
    "SQLite",
    async (directory: string) => ({ url: pathToFileURL(join(directory, "control.db")).href, drop: async () => {} }),
  ],
  ...(postgresUrl === undefined ? [] : [["Postgres", onPostgres(postgresUrl)] as const]),
] as const;

function onPostgres(server: string) {
  return async () => {
    const databases = postgresDatabases(server);
    return { url: await databases.make(), drop: async () => await databases.drop() };
  };
}

interface ReplicaOptions {
  /** Names of tracing databases besides the first. */
  shards?: readonly string[];
  /** Seconds; by default the shortest lease. */
  lease?: number;
}

export async function openReplicas(
  makeControlPlane: (typeof controlPlanes)[number][1],
  { shards = [], lease = 3 }: ReplicaOptions = {},
): Promise<ReplicaSet> {
  const root = mkdtempSync(join(tmpdir(), "heddle-replicas-"));
  const engine = await startEngineHost({ directory: join(root, "engine"), listen: { port: 0 } });
  const control = await makeControlPlane(root);
  const clickhouse = new URL(engine.url);
  clickhouse.username = "default";
  clickhouse.password = engine.password ?? "";
  const shardUrl = (name: string) => `${name}=${new URL(`/trace_${name}`, clickhouse).href}`;
  const env = {
    HEDDLE_SHARDS: shards.map(shardUrl).join(",") || "none",
    HEDDLE_REPLICA_ADDRESS: "127.0.0.1",
    HEDDLE_LEASE: String(lease),
    HEDDLE_DATABASE_URL: control.url,
    HEDDLE_CLICKHOUSE_URL: clickhouse.href,
    HEDDLE_BLOBS_URL: join(root, "blobs"),
  };
  const open = async (name: ReplicaName) => await openHeddle({ env, data: join(root, name) });
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
    enginePid: () => engine.state().pid ?? 0,
    async remove() {
      for (const replica of Object.values(replicas)) await replica.remove();
      await engine.close();
      await control.drop();
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
