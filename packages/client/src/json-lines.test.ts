import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { closed, startScript, startServer } from "../test/http-server.js";
import type { RequestOptions } from "./connection.js";
import { connect } from "./connection.js";
import { readJsonLines } from "./json-lines.js";
import { withJson } from "./outgoing.js";

interface Item {
  n: number;
  text?: string;
}

function read(baseUrl: string, options?: RequestOptions) {
  const outgoing = withJson("act", "POST /calls/stream_query", { project_id: "acme/demo" });
  return readJsonLines<Item>(connect("tracing", undefined, { baseUrl }), outgoing, options);
}

async function collect(items: AsyncIterable<Item>): Promise<Item[]> {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

test("items come one by one, with or without a last line end", async () => {
  const { baseUrl } = await startScript([200, {}, '{"n":1}\n{"n":2}\r\n\n{"n":3}']);
  expect(await collect(read(baseUrl))).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test("an empty response is an empty list", async () => {
  const { baseUrl } = await startScript([200, { "content-length": "0" }], [200, {}]);
  expect(await collect(read(baseUrl))).toEqual([]);
  expect(await collect(read(baseUrl))).toEqual([]);
});

test("lines and characters may be cut anywhere by the network", async () => {
  const bytes = Buffer.from('{"n":1,"text":"Zürich 🚆"}\n{"n":2,"text":"é"}\n');
  const { baseUrl } = await startServer(async (_, response) => {
    for (const byte of bytes) {
      response.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    response.end();
  });
  expect(await collect(read(baseUrl))).toEqual([
    { n: 1, text: "Zürich 🚆" },
    { n: 2, text: "é" },
  ]);
});

test("the first item is there before the last is sent", async () => {
  const begun: ServerResponse[] = [];
  const { baseUrl } = await startServer((_, response) => {
    response.write('{"n":1}\n');
    begun.push(response);
  });
  const items = read(baseUrl, { timeout: 1_000 });
  expect(await items.next()).toEqual({ value: { n: 1 }, done: false });
  begun[0]!.end('{"n":2}\n');
  expect(await items.next()).toEqual({ value: { n: 2 }, done: false });
  expect(await items.next()).toEqual({ value: undefined, done: true });
});

test("leaving the loop closes the connection", async () => {
  let disconnected: Promise<void> | undefined;
  const { baseUrl } = await startServer((_, response) => {
    disconnected = closed(response);
    response.write('{"n":1}\n{"n":2}\n');
  });
  for await (const item of read(baseUrl)) {
    expect(item).toEqual({ n: 1 });
    break;
  }
  await disconnected;
});

test("an abort ends the loop with the signal's reason and closes the connection", async () => {
  let disconnected: Promise<void> | undefined;
  const { baseUrl } = await startServer((_, response) => {
    disconnected = closed(response);
    response.write('{"n":1}\n');
  });
  const controller = new AbortController();
  const loop = async () => {
    for await (const item of read(baseUrl, { signal: controller.signal })) {
      expect(item).toEqual({ n: 1 });
      setTimeout(() => controller.abort(new Error("enough")), 10);
    }
  };
  await expect(loop()).rejects.toThrow("enough");
  await disconnected;
});

test("an abort reaches a body that does not know the signal", async () => {
  const controller = new AbortController();
  let cancelled = false;
  const fetch = async () => new Response(new ReadableStream({ cancel: () => void (cancelled = true) }));
  const connection = connect("tracing", undefined, { baseUrl: "http://in-process", fetch });
  const items = readJsonLines(connection, withJson("act", "POST /x"), { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 10);
  await expect(items.next()).rejects.toThrow("enough");
  expect(cancelled).toBe(true);
});

test("the time limit ends with the beginning of the response", async () => {
  const { baseUrl } = await startServer((_, response) => {
    response.write('{"n":1}\n');
    setTimeout(() => response.end('{"n":2}\n'), 150);
  });
  expect(await collect(read(baseUrl, { timeout: 100 }))).toEqual([{ n: 1 }, { n: 2 }]);
});

test("a stream that is cut off is an error, not an end", async () => {
  const cut = await startServer((_, response) => {
    response.write('{"n":1}\n{"n":');
    setTimeout(() => response.destroy(), 20);
  });
  const items = read(cut.baseUrl);
  expect(await items.next()).toMatchObject({ value: { n: 1 } });
  await expect(items.next()).rejects.toThrow(
    /^POST \/calls\/stream_query failed: the stream ended after 1 item: .*127\.0\.0\.1:\d+/,
  );
  const short = await startScript([200, {}, '{"n":1}\n{"n":']);
  const ended = collect(read(short.baseUrl));
  await expect(ended).rejects.toThrow("the stream ended after 1 item, in the middle of the next");
  await expect(ended).rejects.toMatchObject({ name: "HeddleApiError", status: 0 });
});

test("what is not an item is an error that shows it", async () => {
  const broken = await startScript([200, {}, '{"n":1}\noops\n{"n":3}\n']);
  await expect(collect(read(broken.baseUrl))).rejects.toThrow("200 item 2 of the stream is not JSON: oops");
  const page = await startScript([200, { "content-type": "text/html" }, "<!doctype html>\n<title>Log in</title>"]);
  await expect(collect(read(page.baseUrl))).rejects.toThrow(
    "POST /calls/stream_query: 200 text/html instead of JSON: <!doctype html> <title>Log in</title>",
  );
});

test("an error before the first item is thrown, and a request to a busy service is sent again", async () => {
  const refused = await startScript([400, {}, '{"reason":"bad filter"}']);
  await expect(collect(read(refused.baseUrl))).rejects.toMatchObject({ status: 400, reason: "bad filter" });
  const busy = await startScript([503, { "retry-after": "0" }], [200, {}, '{"n":1}']);
  expect(await collect(read(busy.baseUrl))).toEqual([{ n: 1 }]);
});
