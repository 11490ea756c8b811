import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";
import { quietClient } from "../../test/quiet-client.js";

const client = quietClient();
afterAll(() => client.close());

async function rows(query: string, queryParams?: Record<string, unknown>): Promise<unknown[]> {
  const result = await client.query({ query, query_params: queryParams, format: "JSONEachRow" });
  return result.json();
}

test("the engine responds to a ping", async () => {
  expect(await client.ping()).toEqual({ success: true });
  expect(await client.ping({ select: true })).toEqual({ success: true });
});

test("a query in the body gets its rows, with 64-bit integers as strings", async () => {
  expect(await rows("SELECT toUInt64(18446744073709551615) AS big, 1.5 AS half")).toEqual([
    { big: "18446744073709551615", half: 1.5 },
  ]);
});

test("a query in the URL is read together with what the body adds", async () => {
  const { stream } = await client.exec({ query: "SELECT 1 +", values: bytes("41 FORMAT CSV") });
  expect(await textOf(stream)).toBe("42\n");
});

const hardValues = {
  tab: "a\tb",
  newline: "line\nline\r\nline",
  quotes: `it's "quoted" and \`ticked\``,
  backslashes: "\\ \\\\ \\n \\t \\' \\N",
  unicode: "Grüße 東京 🧵 \u{10ffff}",
  zero: "before\0after",
  braces: "{x:String} {{}} $1 ; -- /* */",
  empty: "",
};

test.each(Object.entries(hardValues))("a parameter arrives as it was sent: %s", async (_, value) => {
  expect(await rows("SELECT {value:String} AS value", { value })).toEqual([{ value }]);
});

test("lists, maps, numbers, dates and nulls arrive as parameters", async () => {
  const values = Object.values(hardValues);
  const [row] = await rows(
    `SELECT {list:Array(String)} AS list, {map:Map(String, UInt8)} AS map, {nothing:Nullable(String)} AS nothing,
            {time:DateTime64(3, 'UTC')} AS time, {negative:Int64} AS negative, {name:Identifier} AS id
     FROM (SELECT 1 AS one)`,
    {
      list: values,
      map: { a: 1 },
      nothing: null,
      time: new Date("2026-04-10T09:00:00.125Z"),
      negative: -5n,
      name: "one",
    },
  );
  expect(row).toEqual({
    list: values,
    map: { a: 1 },
    nothing: null,
    time: "2026-04-10 09:00:00.125",
    negative: "-5",
    id: 1,
  });
});

test("parameters may come as fields of a form, the query among them", async () => {
  const result = await client.query({
    query: "SELECT {value:String} AS value, length({list:Array(String)}) AS length",
    query_params: { value: "a\r\n--b\t'", list: Array.from({ length: 1000 }, () => randomUUID()) },
    use_multipart_params: true,
    format: "JSONEachRow",
  });
  expect(await result.json()).toEqual([{ value: "a\r\n--b\t'", length: "1000" }]);
});

test("a URL of nearly a megabyte is read", async () => {
  const list = Array.from({ length: 20_000 }, () => randomUUID());
  expect(await rows("SELECT length({list:Array(String)}) AS length", { list })).toEqual([{ length: "20000" }]);
});

test("a query of more than a megabyte is read", async () => {
  const list = Array.from({ length: 40_000 }, () => `'${randomUUID()}'`).join(",");
  expect(await rows(`SELECT 'x' IN (${list}) AS found`)).toEqual([{ found: 0 }]);
});

test("settings hold for their request and for no other", async () => {
  const query = "SELECT getSetting('max_threads') AS threads, getSetting('join_algorithm') AS join";
  const settings = { max_threads: 3, join_algorithm: "hash" } as const;
  const set = await client.query({ query, clickhouse_settings: settings, format: "JSONEachRow" });
  expect(await set.json()).toEqual([{ threads: 3, join: "hash" }]);
  const unset = await rows(query);
  expect(unset).not.toEqual([{ threads: 3, join: "hash" }]);
});

test("a parameter of an earlier request is unknown to the next one", async () => {
  await rows("SELECT {stale:String}", { stale: "x" });
  await expect(client.query({ query: "SELECT {stale:String}" })).rejects.toMatchObject({
    type: "UNKNOWN_QUERY_PARAMETER",
  });
});

test("a client works in the database it names", async () => {
  const database = `db_${randomUUID().replaceAll("-", "_")}`;
  await client.command({ query: `CREATE DATABASE ${database}` });
  const inside = quietClient({ database });
  await inside.command({ query: "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a" });
  const result = await inside.query({ query: "SELECT currentDatabase() AS name, * FROM t" });
  expect((await result.json()).meta?.map(({ name }) => name)).toEqual(["name", "a"]);
  await inside.close();
  await client.command({ query: `DROP DATABASE ${database}` });
});

test("the query id comes back, given or made", async () => {
  const queryId = randomUUID();
  const given = await client.query({ query: "SELECT 1", query_id: queryId });
  expect(given.response_headers["x-clickhouse-query-id"]).toBe(queryId);
  await given.text();
  const response = await client.query({ query: "SELECT 1" });
  expect(response.response_headers["x-clickhouse-query-id"]).toBe(response.query_id);
  await response.text();
});

test("many requests at once keep their parameters and settings apart", async () => {
  await Promise.all([1, 2, 3, 4].map((name) => askOften(name)));
});

test("a heavy query delays no small one, even while it is analysed", async () => {
  const stop = new AbortController();
  const heavy = ["SELECT (SELECT sum(sipHash64(number)) FROM numbers(1e11))", slow, slow].map((query) =>
    client.query({ query, abort_signal: stop.signal, format: "TabSeparated" }),
  );
  for (let round = 0; round < 5; round++) {
    const started = performance.now();
    await rows("SELECT 1");
    expect(performance.now() - started).toBeLessThan(2000);
  }
  stop.abort();
  const outcomes = await Promise.allSettled(heavy);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
});

test("a query stops when its client disconnects", async () => {
  const stop = new AbortController();
  const logComment = randomUUID();
  const running = async (): Promise<number> => {
    const query = `SELECT count() AS n FROM system.processes WHERE startsWith(Settings['log_comment'], {id:String})`;
    const [row] = (await rows(query, { id: logComment })) as Array<{ n: string }>;
    return Number(row?.n);
  };
  const query = client.query({
    query: slow,
    abort_signal: stop.signal,
    clickhouse_settings: { log_comment: logComment },
  });
  await expect.poll(running).toBe(1);
  stop.abort();
  await expect(query).rejects.toThrow(/abort/);
  await expect.poll(running, { timeout: 20_000 }).toBe(0);
});

/** Asks 100 times for its own name under its own setting. */
async function askOften(name: number): Promise<void> {
  for (let round = 0; round < 100; round++) {
    const value = `${name}/${round}`;
    const result = await client.query({
      query: "SELECT {value:String} AS value, getSetting('max_threads') AS threads",
      query_params: { value },
      clickhouse_settings: { max_threads: name },
      format: "JSONEachRow",
    });
    expect(await result.json()).toEqual([{ value, threads: name }]);
  }
}

const slow = "SELECT sum(sipHash64(number)) FROM numbers(1e11)";

function bytes(text: string): Readable {
  return Readable.from([Buffer.from(text)]);
}
