import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { startEngineHost } from "../index.js";
import { quietClient } from "../../test/quiet-client.js";
import { frame, kinds } from "./frame.js";
import { statementsAt } from "./statements.js";

const { socketPath } = inject("clickhouse");
const client = quietClient();
afterAll(() => client.close());

const reading = (sql: string, more: { signal?: AbortSignal; settings?: Record<string, string> } = {}) => ({
  sql,
  database: "default",
  settings: more.settings ?? {},
  signal: more.signal,
});

async function running(mark: string): Promise<number> {
  const query = `SELECT count() AS n FROM system.processes WHERE query LIKE '%${mark}%' AND query NOT LIKE '%processes%'`;
  const [row] = await (await client.query({ query, format: "JSONEachRow" })).json<{ n: string }>();
  return Number(row?.n);
}

async function untilStopped(mark: string): Promise<void> {
  for (let tries = 0; (await running(mark)) > 0; tries++) {
    if (tries > 100) throw new Error("the statement goes on");
    await delay(50);
  }
}

// With HEDDLE_CLICKHOUSE_URL there is no host.
describe.runIf(socketPath !== undefined)("statements of the host", () => {
  const statements = statementsAt(socketPath ?? "");
  afterAll(() => statements.close());

  test("give all rows at once, with the settings and the database that were asked for", async () => {
    expect(await statements.whole(reading("SELECT number AS n FROM numbers(2)"))).toBe('{"n":"0"}\n{"n":"1"}\n');
    const settings = { output_format_json_quote_64bit_integers: "0" };
    expect(await statements.whole(reading("SELECT toUInt64(7) AS n", { settings }))).toBe('{"n":7}\n');
    expect(await statements.whole({ ...reading("SELECT currentDatabase() AS d"), database: "system" })).toBe(
      '{"d":"system"}\n',
    );
    expect(await statements.whole(reading("SELECT 1 WHERE 0"))).toBe("");
  });

  test("give large results in pieces of whole lines, however long a line is", async () => {
    const sql = "SELECT number AS n, repeat('żx', if(number % 1000 = 7, 100000, 3)) AS text FROM numbers(20000)";
    let [rows, pieces] = [0, 0];
    for await (const lines of statements.pieces(reading(sql))) {
      pieces++;
      expect(lines.endsWith("\n")).toBe(true);
      for (const line of lines.trimEnd().split("\n")) {
        const { n, text } = JSON.parse(line) as { n: string; text: string };
        if (Number(n) === rows && text.length === (rows % 1000 === 7 ? 200_000 : 6)) rows++;
      }
    }
    expect(rows).toBe(20_000);
    expect(pieces).toBeGreaterThan(20);
  });

  test("fail with the engine's text, before and in the middle of a result, and the next one works", async () => {
    await expect(statements.whole(reading("SELECT nonsense"))).rejects.toThrow(/^Code: 47\. DB::Exception: /);
    const sql = "SELECT throwIf(number = 100000, 'no more') AS n FROM numbers(200000) SETTINGS max_block_size = 1000";
    let rows = 0;
    const read = async () => {
      for await (const lines of statements.pieces(reading(sql))) rows += lines.split("\n").length - 1;
    };
    await expect(read()).rejects.toThrow(/^Code: 395\. .*no more/);
    expect(rows).toBeGreaterThan(50_000);
    expect(await statements.whole(reading("SELECT 1 AS n"))).toBe('{"n":1}\n');
  });

  test.each([
    "CREATE TABLE made_by_a_read (n UInt8) ENGINE = Memory",
    "INSERT INTO kept_by_reads SELECT 1",
    "DROP TABLE kept_by_reads",
    "SELECT 1; DROP TABLE kept_by_reads",
    "SET readonly = 0; DROP TABLE kept_by_reads",
  ])("change nothing: %s", async (sql) => {
    await client.command({ query: "CREATE TABLE IF NOT EXISTS kept_by_reads (n UInt8) ENGINE = Memory" });
    await expect(statements.whole(reading(sql))).rejects.toThrow(/^Code: 164\. /);
    const sizes = "SELECT name, total_rows FROM system.tables WHERE name IN ('kept_by_reads', 'made_by_a_read')";
    expect(await statements.whole(reading(sizes))).toBe('{"name":"kept_by_reads","total_rows":"0"}\n');
  });

  test("stop when they are aborted, and when the reader leaves", async () => {
    const endless = (mark: string) => `SELECT number, '${mark}' AS mark FROM numbers(100000000000)`;
    const before = AbortSignal.abort(new Error("too late"));
    await expect(statements.whole(reading("SELECT 1", { signal: before }))).rejects.toThrow("too late");
    const stop = new AbortController();
    const count = statements.whole(
      reading("SELECT count() AS n, 'whole abort' AS m FROM numbers(100000000000) WHERE NOT ignore(number)", {
        signal: stop.signal,
      }),
    );
    while ((await running("whole abort")) === 0) await delay(20);
    stop.abort(new Error("enough"));
    await expect(count).rejects.toThrow("enough");
    await untilStopped("whole abort");
    for await (const _ of statements.pieces(reading(endless("left early")))) break;
    await untilStopped("left early");
    const later = new AbortController();
    await expect(async () => {
      for await (const _ of statements.pieces(reading(endless("piece abort"), { signal: later.signal }))) {
        later.abort(new Error("enough pieces"));
      }
    }).rejects.toThrow("enough pieces");
    await untilStopped("piece abort");
  });

  test("a slow reader holds the engine back", async () => {
    let most = 0;
    let pieces = 0;
    for await (const _ of statements.pieces(
      reading("SELECT number, repeat('x', 1000) AS text, 'held back' AS mark FROM numbers(10000000)"),
    )) {
      if (++pieces > 60) break;
      await delay(5);
      const query = "SELECT max(peak_memory_usage) AS bytes FROM system.processes WHERE query LIKE '%held back%'";
      const [row] = await (await client.query({ query, format: "JSONEachRow" })).json<{ bytes: string }>();
      most = Math.max(most, Number(row?.bytes));
    }
    expect(most).toBeGreaterThan(10e6);
    expect(most).toBeLessThan(300e6);
  });

  test("a connection that sends anything else is closed, and hurts no other", async () => {
    const sent = [
      "GET / HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
      Buffer.concat([
        Buffer.from("GET / HTTP/1.1\r\nHost: e\r\nConnection: Upgrade\r\nUpgrade: heddle-statements\r\n\r\n"),
        frame(Buffer.from('{"sql":"SELECT sleep(1)","database":"default","settings":{},"inPieces":false}')),
        frame(Buffer.from('{"sql":"SELECT 2","database":"default","settings":{},"inPieces":false}')),
      ]),
    ];
    for (const bytes of sent) {
      const socket = connect(socketPath ?? "");
      socket.write(bytes);
      socket.resume();
      await once(socket, "close");
    }
    const socket = connect(socketPath ?? "");
    socket.write("GET / HTTP/1.1\r\nHost: e\r\nConnection: Upgrade\r\nUpgrade: heddle-statements\r\n\r\n");
    socket.write(frame(Buffer.from("no JSON")));
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    while (!text.includes("Code: 1002")) await delay(10);
    socket.destroy();
    expect(await statements.whole(reading("SELECT 1 AS n"))).toBe('{"n":1}\n');
  });
});

test("a host that closes ends idle connections and lets statements end; its successor takes others", async () => {
  const directory = mkdtempSync(join(tmpdir(), "heddle-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const first = await startEngineHost({ directory });
  const statements = first.statements();
  expect(await statements?.whole(reading("SELECT 1 AS n"))).toBe('{"n":1}\n');
  const slow = statements?.whole(reading("SELECT sleepEachRow(0.5) AS n FROM numbers(2) SETTINGS max_block_size = 1"));
  await delay(300);
  await first.close();
  expect(await slow).toBe('{"n":0}\n{"n":0}\n');
  await expect(statements?.whole(reading("SELECT 1"))).rejects.toMatchObject({ code: expect.stringMatching(/^E/) });
  const second = await startEngineHost({ directory });
  expect(await statements?.whole(reading("SELECT 2 AS n"))).toBe('{"n":2}\n');
  process.kill(second.state().pid ?? 0, "SIGKILL");
  await expect(statements?.whole(reading("SELECT sleep(3)"))).rejects.toMatchObject({
    code: expect.stringMatching(/^E/),
  });
  await second.close();
}, 60_000);

test("rows before a lost connection are read, and then the loss is an error", async () => {
  const directory = mkdtempSync(join(tmpdir(), "heddle-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "socket");
  const server = createServer().on("upgrade", (_, socket: Socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    socket.write(frame(kinds.rows, Buffer.from('{"n":1}\n')));
    socket.end();
  });
  server.listen(path);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const read: string[] = [];
  const all = async () => {
    for await (const lines of statementsAt(path).pieces(reading("SELECT 1"))) read.push(lines);
  };
  await expect(all()).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(read).toEqual(['{"n":1}\n']);
});
