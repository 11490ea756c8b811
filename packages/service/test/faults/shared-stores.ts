import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { startService } from "../../src/boot/start.js";
import type { Running } from "../../src/boot/start.js";
import { readConfig } from "../../src/config/config.js";
import { ownerKey } from "./heddle-process.js";

/** What replicas share, on this machine. */
export interface SharedStores {
  databaseUrl: string;
  /** Settings of a replica with a data directory of its own. */
  settingsOf(name: string): Record<string, string>;
  /** A replica in this process; `writeLog` gets its log. */
  start(name: string, writeLog?: (line: string) => void): Promise<Running>;
  /** Asks the ClickHouse server; the text of its response. */
  ask(sql: string): Promise<string>;
  remove(): Promise<void>;
}

/** Stores of replicas with tracing databases of these names besides the first. */
export async function openSharedStores(shards: readonly string[]): Promise<SharedStores> {
  const root = mkdtempSync(join(tmpdir(), "heddle-shared-"));
  const engine = await startEngineHost({ directory: join(root, "engine"), listen: { port: 0 } });
  const databaseUrl = pathToFileURL(join(root, "control.db")).href;
  const url = (path: string) => {
    const server = new URL(path, engine.url);
    [server.username, server.password] = ["default", engine.password ?? ""];
    return server;
  };
  const settingsOf = (name: string) => ({
    HEDDLE_DATA_DIR: join(root, name),
    HEDDLE_DATABASE_URL: databaseUrl,
    HEDDLE_CLICKHOUSE_URL: url("/").href,
    HEDDLE_SHARDS: shards.map((shard) => `${shard}=${url(`/trace_${shard}`).href}`).join(","),
    HEDDLE_BLOBS_URL: join(root, "blobs"),
    HEDDLE_API_KEY: ownerKey,
    HEDDLE_REPLICA_ADDRESS: "127.0.0.1",
    HEDDLE_PORT: "0",
    HEDDLE_OTLP_GRPC_PORT: "off",
    // None is lost because the machine is busy.
    HEDDLE_LEASE: "20",
  });
  return {
    databaseUrl,
    settingsOf,
    start: async (name, writeLog = () => {}) => await startService(readConfig(settingsOf(name)), { writeLog }),
    async ask(sql) {
      const { username, password, origin } = url("/");
      const authorization = `Basic ${btoa(`${username}:${password}`)}`;
      const response = await fetch(origin, { method: "POST", headers: { authorization }, body: sql });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return text;
    },
    async remove() {
      await engine.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
