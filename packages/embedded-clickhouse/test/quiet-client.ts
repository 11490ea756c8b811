import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { testClientOptions } from "./client.js";

/** The unmodified client, for this run's ClickHouse unless `options` name another; expected errors are not printed. */
export function quietClient(options: Parameters<typeof createClient>[0] = {}): ReturnType<typeof createClient> {
  return createClient({
    ...(options.url === undefined ? testClientOptions() : {}),
    log: { level: ClickHouseLogLevel.OFF },
    // The embedded engine's default, which a server has not.
    clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
    ...options,
  });
}
