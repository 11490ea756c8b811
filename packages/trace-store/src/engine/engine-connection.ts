import type { ClickHouseClientConfigOptions } from "@clickhouse/client";

/** How to reach the engine: URL, agent and credentials, as a ClickHouse client takes them. */
export type EngineConnection = Pick<
  ClickHouseClientConfigOptions,
  "url" | "http_agent" | "username" | "password" | "request_timeout"
>;
