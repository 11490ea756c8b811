import { createClient } from "@clickhouse/client";
import { testClientOptions } from "@heddle/embedded-clickhouse/testing";
import type { Statement } from "../src/engine/engine.js";

/** Runs statements again and returns how many rows the engine read for each, by its own count. */
export async function readRows(
  database: string,
  statements: readonly Statement[],
): Promise<Array<{ sql: string; rows: number }>> {
  const client = createClient({
    ...testClientOptions(),
    database,
    use_multipart_params_auto: true,
    keep_alive: { idle_socket_ttl: 0 },
  });
  const counted: Array<{ sql: string; rows: number }> = [];
  for (const { sql, params } of statements) {
    const result = await client.query({ query: sql, query_params: params?.values, format: "JSON" });
    const { statistics } = await result.json();
    counted.push({ sql, rows: statistics?.rows_read ?? 0 });
  }
  await client.close();
  return counted;
}
