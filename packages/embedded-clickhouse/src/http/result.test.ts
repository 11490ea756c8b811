import { setTimeout as delay } from "node:timers/promises";
import type { DataFormat } from "@clickhouse/client";
import { afterAll, expect, test } from "vitest";
import { quietClient } from "../../test/quiet-client.js";

const client = quietClient();
afterAll(() => client.close());

const outputs: Array<[DataFormat, string]> = [
  ["JSONEachRow", '{"id":"0","name":"a"}\n{"id":"1","name":"a"}\n'],
  ["JSONCompactEachRow", '["0", "a"]\n["1", "a"]\n'],
  ["JSONStringsEachRow", '{"id":"0","name":"a"}\n{"id":"1","name":"a"}\n'],
  ["JSONCompactEachRowWithNames", '["id", "name"]\n["0", "a"]\n["1", "a"]\n'],
  ["TabSeparated", "0\ta\n1\ta\n"],
  ["TabSeparatedWithNamesAndTypes", "id\tname\nUInt64\tString\n0\ta\n1\ta\n"],
  ["CSV", '0,"a"\n1,"a"\n'],
  ["CSVWithNames", '"id","name"\n0,"a"\n1,"a"\n'],
];

test.each(outputs)("rows come as %s", async (format, text) => {
  const query = "SELECT number AS id, 'a' AS name FROM numbers(2)";
  const result = await client.query({ query, format });
  expect(result.response_headers["x-clickhouse-format"]).toBe(format);
  expect(await result.text()).toBe(text);
});

test("a document format is one document, however many rows it has", async () => {
  const query = "SELECT number FROM numbers(200000)";
  const { rows, data, meta } = await (await client.query({ query, format: "JSON" })).json();
  expect([rows, data.length, meta]).toEqual([200_000, 200_000, [{ name: "number", type: "UInt64" }]]);
});

test("totals are part of the document", async () => {
  const query = "SELECT number % 2 AS odd, count() AS rows FROM numbers(10) GROUP BY odd WITH TOTALS ORDER BY odd";
  const { data, totals } = await (await client.query({ query, format: "JSON" })).json();
  expect(data).toHaveLength(2);
  expect(totals).toEqual({ odd: 0, rows: "10" });
});

test.each([0, 1] as const)(
  "nothing follows a result that ends with a fraction (wait_end_of_query: %d)",
  async (waits) => {
    const query = "SELECT [toFloat64(2), number + 0.5] AS x FROM numbers(2)";
    const settings = { wait_end_of_query: waits };
    const result = await client.query({ query, format: "JSONEachRow", clickhouse_settings: settings });
    expect(await result.text()).toBe('{"x":[2,0.5]}\n{"x":[2,1.5]}\n');
  },
);

test("an empty result is empty", async () => {
  const result = await client.query({ query: "SELECT 1 WHERE 0", format: "JSONEachRow" });
  expect(await result.json()).toEqual([]);
});

test("a result is compressed when the client asks for it", async () => {
  const zipped = quietClient({ compression: { response: true } });
  const query = "SELECT number FROM numbers(100000)";
  const result = await zipped.query({ query, format: "JSONEachRow" });
  expect(result.response_headers["content-encoding"]).toBe("gzip");
  expect(await result.json()).toHaveLength(100_000);
  await expect(zipped.query({ query: "SELECT nonsense" })).rejects.toMatchObject({ code: "47" });
  await zipped.close();
});

test("the summary comes with the response to a command", async () => {
  const { summary } = await client.command({ query: "CREATE DATABASE IF NOT EXISTS summary" });
  expect(summary).toMatchObject({ read_rows: "0", written_rows: "0" });
  expect(Number(summary?.elapsed_ns)).toBeGreaterThan(0);
});

test("a slow reader holds the engine back instead of filling the host's memory", async () => {
  // Of the statement alone: other tests use the engine meanwhile.
  const peakMemory = async (): Promise<number> => {
    const query = "SELECT max(peak_memory_usage) AS bytes FROM system.processes WHERE query LIKE '%numbers(10000000)%'";
    const [row] = await (await client.query({ query, format: "JSONEachRow" })).json<{ bytes: string }>();
    return Number(row?.bytes);
  };
  const stop = new AbortController();
  const result = await client.query({
    query: "SELECT number, repeat('x', 1000) AS text FROM numbers(10000000)",
    format: "JSONEachRow",
    abort_signal: stop.signal,
  });
  let rows = 0;
  let most = 0;
  for await (const chunk of result.stream()) {
    const looks = Math.floor(rows / 10_000);
    rows += chunk.length;
    if (Math.floor(rows / 10_000) === looks) continue;
    if (rows > 100_000) break;
    await delay(50);
    most = Math.max(most, await peakMemory());
  }
  stop.abort();
  // Ten gigabytes were asked for; a few blocks of 16 MB are in flight.
  expect(most).toBeGreaterThan(10e6);
  expect(most).toBeLessThan(300e6);
});
