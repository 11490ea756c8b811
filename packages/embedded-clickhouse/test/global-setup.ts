import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startEngineHost } from "../src/index.js";

// One engine for the whole test run; with HEDDLE_CLICKHOUSE_URL the suites run on that server instead.

/** What travels from here to the test processes; `testClientOptions` makes client options of it. */
export interface ProvidedClickHouse {
  url: string;
  socketPath?: string;
  username?: string;
  password?: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    clickhouse: ProvidedClickHouse;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const serverUrl = process.env["HEDDLE_CLICKHOUSE_URL"];
  if (serverUrl) {
    project.provide("clickhouse", { url: serverUrl });
    return () => Promise.resolve();
  }
  const directory = mkdtempSync(join(tmpdir(), "heddle-test-"));
  const host = await startEngineHost({ directory });
  project.provide("clickhouse", { url: host.url, socketPath: host.socketPath });
  return async () => {
    await host.close();
    rmSync(directory, { recursive: true, force: true });
  };
}
