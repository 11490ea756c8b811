import { afterAll, expect, test } from "vitest";
import { quietClient } from "../../test/quiet-client.js";

const client = quietClient();
afterAll(() => client.close());

test("an error has the server's code, type and message", async () => {
  await expect(client.query({ query: "SELECT * FROM nowhere" })).rejects.toMatchObject({
    code: "60",
    type: "UNKNOWN_TABLE",
    message: expect.stringContaining("nowhere") as string,
  });
  await expect(client.query({ query: "SELEC 1" })).rejects.toMatchObject({
    code: "62",
    message: expect.stringContaining("Syntax error: failed at position 1 ") as string,
  });
});

test("an error response has its code in a header and the status of that code", async () => {
  const { stream, response_headers } = await client.exec({
    query: "SELECT * FROM nowhere",
    ignore_error_response: true,
  });
  stream.resume();
  expect(response_headers["x-clickhouse-exception-code"]).toBe("60");
});

test("an id that fits no header does no harm", async () => {
  const result = await client.query({ query: "SELECT 1", query_id: "ü\n東", format: "CSV" });
  expect(await result.text()).toBe("1\n");
});

test("an unknown setting is refused", async () => {
  const nonsense: Record<string, string> = { nonsense: "1" };
  const query = client.query({ query: "SELECT 1", clickhouse_settings: nonsense });
  await expect(query).rejects.toMatchObject({ code: "115", type: "UNKNOWN_SETTING" });
});

test("a query that takes too long is stopped", async () => {
  const query = client.query({
    query: "SELECT sum(sipHash64(number)) FROM numbers(1e11)",
    clickhouse_settings: { max_execution_time: 1 },
  });
  await expect(query).rejects.toMatchObject({ code: "159", type: "TIMEOUT_EXCEEDED" });
});

test("a query that needs too much memory is stopped, and the engine keeps running", async () => {
  const query = client.query({
    query: "SELECT groupArray(repeat('x', 1000)) FROM numbers(1000000)",
    clickhouse_settings: { max_memory_usage: "50000000" },
  });
  await expect(query).rejects.toMatchObject({ code: "241", type: "MEMORY_LIMIT_EXCEEDED" });
  expect(await client.ping({ select: true })).toEqual({ success: true });
});

test("a request takes one statement only", async () => {
  await expect(client.command({ query: "SELECT 1; SELECT 2" })).rejects.toMatchObject({
    code: "62",
    message: expect.stringContaining("Multi-statements are not allowed") as string,
  });
  await client.command({ query: "SELECT ';' -- ; and no more\n;" });
});

test.each(["none", "gzip"])(
  "an error in the middle of a result reaches the reader (compression %s)",
  async (compression) => {
    const reader = quietClient({ compression: { response: compression === "gzip" } });
    const result = await reader.query({
      query: "SELECT number, throwIf(number = 500000, 'half-way') FROM numbers(1000000)",
      clickhouse_settings: { max_block_size: "1000" },
      format: "JSONEachRow",
    });
    let rows = 0;
    const read = async (): Promise<void> => {
      for await (const chunk of result.stream()) rows += chunk.length;
    };
    await expect(read()).rejects.toMatchObject({
      code: "395",
      message: expect.stringContaining("half-way") as string,
    });
    expect(rows).toBeGreaterThan(100_000);
    await reader.close();
  },
);
