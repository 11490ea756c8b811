import { readFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@clickhouse/client";
import type { ResponseJSON, Row } from "@clickhouse/client";
import { startEngineHost } from "../src/index.js";

// How much memory the host needs to stream 300 MB to a client that reads slower than the engine writes.
// Linux only (reads /proc). Run: pnpm --filter @heddle/embedded-clickhouse bench

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  const host = await startEngineHost({ directory, memoryBytes: 2_000_000_000 });
  const client = createClient(host.clientOptions());
  const residentMb = (): number => {
    const status = readFileSync(`/proc/${host.state().pid}/status`, "utf8");
    return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1000;
  };
  await client.command({
    query: "CREATE TABLE payloads (id UInt64, text String) ENGINE = MergeTree ORDER BY id",
  });
  await client.command({
    query: "INSERT INTO payloads SELECT number, repeat(hex(sipHash128(number)), 64) FROM numbers(150000)",
  });
  const queries = {
    "table order": "SELECT id, text FROM payloads",
    "three times": "SELECT id, text FROM payloads ARRAY JOIN [1, 2, 3] AS n",
    sorted: "SELECT id, text FROM payloads ORDER BY sipHash64(id)",
    generated: "SELECT number, repeat(hex(number), 128) AS text FROM numbers(150000)",
  };
  for (const [name, query] of Object.entries(queries)) {
    const before = residentMb();
    let peak = before;
    let bytes = 0;
    const started = performance.now();
    const result = await client.query({ query, format: "JSONEachRow" });
    for await (const rows of result.stream() as AsyncIterable<Array<Row<ResponseJSON>>>) {
      for (const row of rows) bytes += row.text.length;
      peak = Math.max(peak, residentMb());
      await delay(1);
    }
    const seconds = (performance.now() - started) / 1000;
    console.log(
      `${name}: ${(bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s, ` +
        `host ${before.toFixed(0)} MB before, ${peak.toFixed(0)} MB at most`,
    );
  }
  await client.close();
  await host.close();
  rmSync(directory, { recursive: true });
}

await main();
