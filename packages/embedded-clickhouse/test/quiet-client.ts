import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { testClientOptions } from "./client.js";

/** The unmodified client, for this run's ClickHouse unless `options` name another; expected errors are not printed. */
export function quietClient(options: Parameters<typeof createClient>[0] = {}): ReturnType<typeof createClient> {
  return createClient({
    ...(options.url === undefined ? testClientOptions() : {}),
    log: { level: ClickHouseLogLevel.OFF },
    ...options,
  });
}
