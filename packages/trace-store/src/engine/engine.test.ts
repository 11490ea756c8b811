import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { FairShare } from "@heddle/concurrency";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { connectEngine } from "./engine.js";
import { Parameters } from "./parameters.js";
import { withSlots } from "./statement-slots.js";

const db = testDatabase();
beforeAll(async () => {
  await db.open();
});
afterAll(() => db.drop());

test("parameters carry any text and never become SQL", async () => {
  const texts = [
    "",
    "it's",
    'a "b"',
    "'; DROP TABLE calls; --",
    "back\\slash\ttab\nline",
    "{p0:String}",
    "żółć 🧵",
    "\\N",
  ];
  const params = new Parameters();
  const columns = texts.map((text, index) => `${params.bind("String", text)} AS t${index}`);
  const list = params.bind("Array(String)", texts);
  const [row] = await db.engine.rows<Record<string, unknown>>({
    sql: `SELECT ${columns.join(", ")}, ${list} AS list`,
    params,
  });
  expect(texts.map((_, index) => row?.[`t${index}`])).toEqual(texts);
  expect(row?.["list"]).toEqual(texts);
});

test("parameters and rows are the same in small results, in large requests and in streams", async () => {
  const statement = (padding: string) => {
    const params = new Parameters();
    const columns = [
      params.bind("Nullable(String)", null),
      params.bind("Nullable(String)", "\\N"),
      params.bind("String", "a\nb\r\t'\\\u2028\0 & = % + 🧵"),
      params.bind("Float64", Number.POSITIVE_INFINITY),
      params.bind("Float64", -0.1),
      params.bind("UInt64", 2n ** 64n - 1n),
      params.bind("Array(Int64)", [-(2n ** 63n), 0]),
      params.bind("Array(String)", ["", "'", "\n,\\", "]"]),
      `length(${params.bind("String", padding)})`,
    ];
    return { sql: `SELECT ${columns.map((value, at) => `${value} AS c${at}`).join(", ")} FROM numbers(2)`, params };
  };
  const small = await db.engine.rows(statement("x"));
  expect(small).toHaveLength(2);
  expect(small[0]).toMatchObject({
    c0: null,
    c1: "\\N",
    c2: "a\nb\r\t'\\\u2028\0 & = % + 🧵",
    c5: "18446744073709551615",
  });
  const streamed: unknown[] = [];
  for await (const row of db.engine.stream(statement("x"))) streamed.push(row);
  expect(streamed).toEqual(small);
  const large = await db.engine.rows<object>(statement("x".repeat(60_000)));
  expect(large.map((row) => ({ ...row, c8: "1" }))).toEqual(small);
  expect(await db.engine.rows({ sql: "SELECT 1 WHERE 0" })).toEqual([]);
});

test("a list of 1,000 refs of 250 characters is sent in parameters of at most 64 KB", async () => {
  const refs = Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(250, "x"));
  const params = new Parameters();
  const sql = `SELECT count() AS found FROM (SELECT leftPad(toString(number), 250, 'x') AS ref FROM numbers(2000)) WHERE ${params.in("ref", "String", refs)}`;
  expect(await db.engine.rows({ sql, params })).toEqual([{ found: "1000" }]);
  for (const value of Object.values(params.values)) expect(JSON.stringify(value).length).toBeLessThan(65_536);
});

test("an empty list matches nothing, and times match to the microsecond", async () => {
  const params = new Parameters();
  const times = [-2_208_988_800_000_000n, 1n, 10_413_791_999_999_999n];
  const column =
    "arrayJoin([fromUnixTimestamp64Micro(toInt64(1), 'UTC'), fromUnixTimestamp64Micro(toInt64(2), 'UTC')])";
  const sql = `SELECT ${params.in("1", "UInt8", [])} AS none, toUnixTimestamp64Micro(t) AS us FROM (SELECT ${column} AS t) WHERE ${params.inTimes("t", times)} AND t = ${params.time(1n)}`;
  expect(await db.engine.rows({ sql, params })).toEqual([{ none: 0, us: "1" }]);
});

describe("a stream of rows", () => {
  test("arrives completely and in order", async () => {
    let next = 0;
    for await (const { number } of db.engine.stream<{ number: string }>({
      sql: "SELECT number FROM numbers(100000)",
    })) {
      if (Number(number) === next) next++;
    }
    expect(next).toBe(100_000);
  });

  test("can be left in the middle, and the statement stops", async () => {
    const sql = "SELECT number, 'left in the middle' AS mark FROM numbers(10000000000)";
    for await (const { number } of db.engine.stream<{ number: string }>({ sql })) if (Number(number) > 10) break;
    await expectStopped("left in the middle");
  });

  test("can be aborted, before and in the middle, with the reason of the signal", async () => {
    const before = AbortSignal.abort(new Error("too late"));
    const sql = "SELECT number, 'aborted stream' AS mark FROM numbers(10000000000)";
    await expect(async () => {
      for await (const _ of db.engine.stream({ sql }, { signal: before })) continue;
    }).rejects.toThrow("too late");
    const controller = new AbortController();
    await expect(async () => {
      for await (const { number } of db.engine.stream<{ number: string }>({ sql }, { signal: controller.signal })) {
        if (Number(number) === 1000) controller.abort(new Error("enough"));
      }
    }).rejects.toThrow("enough");
    await expectStopped("aborted stream");
  });

  test("that is collected can be aborted while the engine works", async () => {
    const sql =
      "SELECT count() AS x, 'aborted collection' AS mark FROM numbers(100000000000) WHERE sipHash64(number) = 1";
    const controller = new AbortController();
    const collected = db.engine.rows({ sql }, { signal: controller.signal });
    collected.catch(() => undefined);
    await expect.poll(() => running("aborted collection"), { timeout: 20_000 }).toBe(1);
    controller.abort(new Error("enough"));
    await expect(collected).rejects.toThrow("enough");
    await expectStopped("aborted collection");
  });

  test("that fails in the middle throws after the rows that arrived", async () => {
    const sql = "SELECT throwIf(number = 200000, 'mid-stream') AS x FROM numbers(1000000)";
    let rows = 0;
    await expect(async () => {
      for await (const _ of db.engine.stream(
        { sql, params: new Parameters() },
        { settings: { max_block_size: "1000" } },
      ))
        rows++;
    }).rejects.toThrow(/mid-stream/);
    expect(rows).toBeLessThan(200_001);
  });

  test("whose reader is slow to take it does not take the last slot", async () => {
    const two = withSlots(db.engine, new FairShare({ capacity: 2, messages: { key: "", entity: "", all: "" } }));
    const sql = "SELECT number FROM numbers(1000000)";
    const slow = [two.stream({ sql }), two.stream({ sql })].map((stream) => stream[Symbol.asyncIterator]());
    await Promise.all(slow.map((iterator) => iterator.next()));
    let handedOver = false;
    const controller = new AbortController();
    const third = two.rows(() => {
      handedOver = true;
      return { sql: "SELECT 1 AS x" };
    });
    const fourth = two.rows({ sql: "SELECT 1 AS x" }, { signal: controller.signal });
    await delay(50);
    expect(handedOver).toBe(false);
    controller.abort(new Error("left the line"));
    await expect(fourth).rejects.toThrow("left the line");
    await slow[0]?.return?.();
    expect(await third).toEqual([{ x: 1 }]);
    await slow[1]?.return?.();
    expect(await two.rows({ sql: "SELECT 2 AS x" })).toEqual([{ x: 2 }]);
  });
});

describe("an error of the engine", () => {
  test("about the statement differs from one about load", async () => {
    await expect(db.engine.rows({ sql: "SELECT nonsense" })).rejects.toMatchObject({
      name: "StatementError",
      number: 47,
    });
    const hungry = "SELECT groupArray(number) FROM numbers(100000000)";
    await expect(db.engine.rows({ sql: hungry }, { settings: { max_memory_usage: "10000000" } })).rejects.toMatchObject(
      {
        name: "HeddleError",
        code: "busy",
        message: "The trace engine is out of memory",
      },
    );
    const slow = "SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1";
    await expect(db.engine.rows({ sql: slow }, { settings: { max_execution_time: 1 } })).rejects.toMatchObject({
      code: "busy",
    });
  });

  test("is busy when no server listens", async () => {
    const unreachable = connectEngine({ url: "http://127.0.0.1:9" }, "trace");
    await expect(unreachable.rows({ sql: "SELECT 1" })).rejects.toMatchObject({ code: "busy" });
    await expect(unreachable.insert("calls", ["id"], [new Uint8Array(1)])).rejects.toMatchObject({ code: "busy" });
    await unreachable.close();
  });
});

/** How many statements with the mark the engine works on. */
async function running(mark: string): Promise<number> {
  const params = new Parameters();
  const sql = `SELECT count() AS running FROM system.processes WHERE query LIKE ${params.bind("String", `%${mark}%`)} AND query NOT LIKE '%system.processes%'`;
  const [row] = await db.engine.rows<{ running: string }>({ sql, params });
  return Number(row?.running);
}

async function expectStopped(mark: string): Promise<void> {
  await expect.poll(() => running(mark), { timeout: 20_000 }).toBe(0);
}

describe("what waits until inserts are sent", () => {
  const row = Buffer.from(`${"x".repeat(8 * 1024 * 1024)}\n`);

  test("goes on once they are", async () => {
    await db.engine.command({ sql: "CREATE TABLE sent (text String) ENGINE=Memory" });
    let stored = false;
    const insert = db.engine.insert("sent", ["text"], [row]).then(() => (stored = true));
    await db.engine.sent();
    await insert;
    await db.engine.sent();
    expect(stored).toBe(true);
  });

  test("does not wait for an engine that takes nothing, nor for one that is not there", async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => void sockets.push(socket.pause())).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const silent = connectEngine({ url: `http://127.0.0.1:${port}` }, "trace");
    let settled = false;
    const insert = silent.insert("calls", ["id"], [row]).finally(() => (settled = true));
    await silent.sent();
    expect(settled).toBe(false);
    server.close();
    for (const socket of sockets) socket.destroy();
    await expect(insert).rejects.toMatchObject({ code: "busy" });
    await silent.sent();
    await silent.close();
  });
});
