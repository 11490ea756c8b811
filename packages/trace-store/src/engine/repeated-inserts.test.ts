import { once } from "node:events";
import { createServer, request } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { testClientOptions } from "@heddle/embedded-clickhouse/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { connectEngine } from "./engine.js";
import type { Engine } from "./engine.js";

const db = testDatabase();
/** What the proxy does with the next insert: cuts the connection before it reaches the engine, or before the response. */
let cut: "before" | "after" | undefined;
/** What the proxy says of how long the engine has been up, instead of the engine. */
let uptimes: number[] = [];
let inserts = 0;

const { url, http_agent: agent } = testClientOptions();
const proxy = createServer((incoming, outgoing) => {
  void forward().catch(() => outgoing.destroy());

  async function forward(): Promise<void> {
    const target = new URL(incoming.url ?? "", url ?? "http://engine");
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const isInsert = (target.searchParams.get("query") ?? body.toString()).startsWith("INSERT INTO once");
    if (isInsert) inserts++;
    const how = isInsert ? cut : undefined;
    if (isInsert) cut = undefined;
    if (how === "before") return void outgoing.destroy();
    const upstream = request({
      agent,
      path: target.pathname + target.search,
      method: "POST",
      headers: incoming.headers,
    });
    upstream.end(body);
    const [response] = (await once(upstream, "response")) as [IncomingMessage];
    const answer: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) answer.push(chunk);
    if (how === "after") return void outgoing.destroy();
    const uptime = body.includes("uptime()") ? uptimes.shift() : undefined;
    outgoing.writeHead(response.statusCode ?? 500, uptime === undefined ? response.headers : {});
    outgoing.end(uptime === undefined ? Buffer.concat(answer) : `{"seconds":${uptime}}\n`);
  }
});

let engine: Engine;
let connect: () => Engine;
let mayRepeat = true;
beforeAll(async () => {
  await (await db.open()).close();
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  await db.engine.command({
    sql: "CREATE TABLE once (x UInt32) ENGINE=MergeTree ORDER BY x SETTINGS non_replicated_deduplication_window=10",
  });
  const connection = { url: `http://127.0.0.1:${port}` };
  connect = () => connectEngine(connection, db.name, { deduplicated: new Set(["once"]), mayRepeat: () => mayRepeat });
});
beforeEach(() => {
  engine = connect();
});
afterEach(async () => {
  await db.engine.command({ sql: "TRUNCATE TABLE once" });
  [uptimes, inserts, mayRepeat] = [[], 0, true];
  await engine.close();
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await db.drop();
});

const insert = () => engine.insert("once", ["x"], [Buffer.from("1\n"), Buffer.from("1\n")]);
const stored = async () => (await db.engine.rows<{ n: string }>({ sql: "SELECT count() AS n FROM once" }))[0]?.n;

test.each(["before", "after"] as const)(
  "an insert whose connection is lost %s it is stored is stored once",
  async (how) => {
    uptimes = [100, 100];
    cut = how;
    await insert();
    expect(await stored()).toBe("2");
    expect(inserts).toBe(2);
    // Equal rows of another insert are other rows.
    await insert();
    expect(await stored()).toBe("4");
  },
);

test.each([
  { engine: "was replaced", seconds: [100, 0] },
  { engine: "was replaced some time ago", seconds: [100, 98] },
  { engine: "is too young to tell", seconds: [1, 1] },
])("it is not repeated for an engine that $engine", async ({ seconds }) => {
  uptimes = seconds;
  cut = "before";
  await expect(insert()).rejects.toMatchObject({ code: "busy" });
  expect(await stored()).toBe("0");
});

test("nor by a process that may not write any more", async () => {
  uptimes = [100, 100];
  cut = "before";
  mayRepeat = false;
  await expect(insert()).rejects.toMatchObject({ code: "busy" });
  expect(await stored()).toBe("0");
});
