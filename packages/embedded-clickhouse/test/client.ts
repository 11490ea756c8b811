import { inject } from "vitest";
import type { EngineClientOptions, EngineHost } from "../src/engine-host.js";
import { statementsAt } from "../src/frames/statements.js";
import { socketAgent } from "../src/socket-agent.js";

// The provided value is declared where it is provided.
export type { ProvidedClickHouse } from "./global-setup.js";

/** Client options for the ClickHouse of this test run: the engine host's socket, or HEDDLE_CLICKHOUSE_URL. */
export function testClientOptions(): EngineClientOptions {
  const { socketPath, ...options } = inject("clickhouse");
  return socketPath === undefined ? options : { ...options, http_agent: socketAgent(socketPath) };
}

/** The same, and the host's way for statements that read. */
export function testConnection(): ReturnType<EngineHost["connection"]> {
  const { socketPath } = inject("clickhouse");
  return { ...testClientOptions(), statements: socketPath === undefined ? undefined : statementsAt(socketPath) };
}
