/* oxlint-disable unicorn/consistent-function-scoping -- a handler reads best inside the test that it serves */
import { createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { listen, toNodeListener } from "../src/node/node.js";
import type { Listening, ListenOptions } from "../src/node/node.js";
import { rawJson } from "../src/json/raw-json.js";
import { libraryServer } from "./library.js";
import type { Handler } from "./library.js";

// What only a real socket can show.

const book = { id: "b1", title: "T", notes: rawJson("{}"), added_at: "2026-04-10" };

async function withServer(
  handlers: Record<string, Handler>,
  use: (port: number, url: string, listening: Listening) => Promise<void>,
  options: ListenOptions = {},
) {
  const listening = await listen(libraryServer(handlers), options);
  try {
    await use(listening.port, listening.url, listening);
  } finally {
    await listening.close(0);
  }
}

/** Sends text over a socket of its own and gives everything that comes back until it closes. */
async function raw(port: number, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let response = "";
  socket.setEncoding("latin1");
  const closed = new Promise<string>((resolve, reject) => {
    socket.on("data", (chunk: string) => (response += chunk));
    socket.on("end", () => resolve(response));
    socket.on("error", reject);
  });
  for (const part of parts) {
    await new Promise((resolve) => socket.write(part, resolve));
  }
  return closed;
}

const head = "POST /books HTTP/1.1\r\nhost: a\r\n";

test("a client that sends a body over the limit to its end before it reads can read the 413", async () => {
  await withServer({ bookCreate: () => book }, async (port) => {
    const size = 8_000_000;
    const response = await raw(port, `${head}content-length: ${size}\r\n\r\n`, Buffer.alloc(size, 32));
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    expect(response).toMatch(/\r\nconnection: close\r\n/i);
    expect(response).toContain('{"reason":"Request too large: a body has at most 1048576 bytes"}');
  });
});

test("so can one that sends chunks without a length", async () => {
  await withServer({ bookCreate: () => book }, async (port) => {
    const chunk = Buffer.concat([Buffer.from("f4240\r\n"), Buffer.alloc(1_000_000, 32), Buffer.from("\r\n")]);
    const response = await raw(port, `${head}transfer-encoding: chunked\r\n\r\n`, ...Array(5).fill(chunk), "0\r\n\r\n");
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
  });
});

test("a client that waits for 100-continue gets 413 before the upload", async () => {
  await withServer({ bookCreate: () => book }, async (port) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head}content-length: 9000000\r\nexpect: 100-continue\r\n\r\n`);
    const response = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});

test("a client that waits for 100-continue gets 100 when its body is read", async () => {
  await withServer({ bookCreate: () => book }, async (port) => {
    const body = '{"id":"b1","title":"T","notes":{}}';
    const headers = { expect: "100-continue", "content-length": body.length };
    const outgoing = httpRequest({ port, path: "/books", method: "POST", headers });
    const status = await new Promise((resolve) => {
      outgoing.on("continue", () => outgoing.end(body));
      outgoing.on("response", (response) => resolve(response.resume().statusCode));
      outgoing.flushHeaders();
    });
    expect(status).toBe(200);
  });
});

const chunked = "5\r\nhello\r\n0\r\n\r\n";
test.each([
  ["two Transfer-Encoding", "transfer-encoding: chunked\r\ntransfer-encoding: chunked"],
  ["two Transfer-Encoding, the first of which is none", "transfer-encoding: identity\r\ntransfer-encoding: chunked"],
  ["two Transfer-Encoding, the second of which is none", "transfer-encoding: chunked\r\ntransfer-encoding: identity"],
  ["a list of codings", "transfer-encoding: chunked, chunked"],
  ["a coding besides chunked", "transfer-encoding: gzip, chunked"],
  ["identity", "transfer-encoding: identity"],
  ["identity and a length", "transfer-encoding: identity\r\ncontent-length: 15"],
  ["an empty coding", "transfer-encoding:"],
  ["a length before the coding", "content-length: 15\r\ntransfer-encoding: chunked"],
  ["a length after the coding", "transfer-encoding: chunked\r\ncontent-length: 15"],
  ["two lengths", "content-length: 15\r\ncontent-length: 15"],
  ["two lengths that differ", "content-length: 5\r\ncontent-length: 15"],
  ["a list of lengths", "content-length: 15, 15"],
  ["a length with a sign", "content-length: +15"],
  ["a space before the colon", "transfer-encoding : chunked"],
  ["a folded header", "transfer-encoding:\r\n chunked"],
  ["a second Host", "host: b"],
])("a request with %s is refused, and nothing after it is read", async (_, headers) => {
  const seen: string[] = [];
  const handlers = { bookCreate: () => book, readHealth: () => seen.push("read") };
  await withServer(handlers, async (port) => {
    // What a proxy that reads the headers otherwise takes for the body.
    const next = "GET /health HTTP/1.1\r\nhost: a\r\n\r\n";
    for (const body of [next, chunked + next]) {
      const response = await raw(port, `${head}${headers}\r\n\r\n${body}`);
      expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400"]);
      expect(response).toMatch(/\r\nconnection: close\r\n/i);
    }
  });
  expect(seen).toEqual([]);
});

test("a body with Transfer-Encoding of HTTP/1.0 is refused, and one coding of any case is read", async () => {
  await withServer({ bookCreate: () => book }, async (port) => {
    const old = `POST /books HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${chunked}`;
    expect(await raw(port, old)).toMatch(/^HTTP\/1\.1 400 /);
    const body = '{"id":"b1","title":"T","notes":{}}';
    const sent = `${head}Transfer-Encoding: Chunked\r\nconnection: close\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    expect(await raw(port, sent)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

test("an error leaves the connection usable for the next request", async () => {
  await withServer({ readHealth: () => ({}) }, async (port) => {
    const wrong = "POST /books HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n{{{";
    const response = await raw(port, wrong, "GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 501", "HTTP/1.1 200"]);
  });
});

test("handlers get the address of the peer", async () => {
  let seen: string | undefined;
  const handler: Handler = ({ remoteAddress }) => {
    seen = remoteAddress;
    return {};
  };
  await withServer({ readHealth: handler }, async (_, url) => {
    await fetch(`${url}/health`);
    expect(seen).toBe("127.0.0.1");
  });
});

test("closing lets running requests finish and cuts those that take too long", async () => {
  for (const [grace, milliseconds, outcome] of [
    [10_000, 100, 200],
    [10, 60_000, "cut"],
  ] as const) {
    let started = () => {};
    const running = new Promise<void>((resolve) => (started = resolve));
    const handler: Handler = async () => {
      started();
      await setTimeout(milliseconds, undefined, { ref: false });
      return {};
    };
    const listening = await listen(libraryServer({ readHealth: handler }));
    const response = fetch(`${listening.url}/health`).then(
      ({ status }) => status,
      () => "cut",
    );
    await running;
    await listening.close(grace);
    expect(await response).toBe(outcome);
  }
});

test("closing responds to clients that are connected and not yet accepted", async () => {
  const listening = await listen(libraryServer({ readHealth: () => ({}) }));
  const responses = Array.from({ length: 30 }, () =>
    raw(listening.port, "GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").catch(String),
  );
  // The system connects them in this iteration of the event loop; the server accepts them in the next.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  await listening.close();
  expect(new Set((await Promise.all(responses)).map((response) => response.slice(0, 12)))).toEqual(
    new Set(["HTTP/1.1 200"]),
  );
});

test("a client that leaves in the middle of its request is not an error of the server", async () => {
  const errors: unknown[] = [];
  const listening = await listen(
    libraryServer({ bookCreate: () => book }, { onError: (error) => void errors.push(error) }),
  );
  const socket = connect(listening.port, "127.0.0.1");
  await new Promise((resolve) => socket.write(`${head}content-length: 100\r\n\r\n{`, resolve));
  await setTimeout(50);
  socket.destroy();
  await setTimeout(50);
  expect((await fetch(`${listening.url}/nope`)).status).toBe(404);
  await listening.close();
  expect(errors).toEqual([]);
});

test("a port that is taken is an error", async () => {
  const first = await listen(libraryServer({}));
  await expect(listen(libraryServer({}), { port: first.port })).rejects.toThrow("EADDRINUSE");
  await first.close(0);
});

test("the listener mounts in any node:http server, and many slow responses leave no listeners", async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => warnings.push(warning);
  process.on("warning", warn);
  async function* rows() {
    for (let index = 0; index < 150; index++) yield { ...book, title: "x".repeat(100_000) };
  }
  const server = createServer(toNodeListener(libraryServer({ booksStream: rows })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const response = await fetch(`http://127.0.0.1:${port}/books/stream`, { method: "POST" });
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(15_000_000);
  await new Promise((resolve) => server.close(resolve));
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});

/** Sends a request and reads nothing of its response; resolves when the server has cut the connection. */
async function unread({ port, server }: Listening, request: string): Promise<void> {
  const cut = new Promise<void>((resolve) => {
    server.once("connection", (socket) => socket.once("close", resolve));
  });
  const socket = connect(port, "127.0.0.1").pause();
  socket.on("error", () => {});
  socket.write(request);
  await cut;
  socket.destroy();
}

test("a stream that nobody reads is ended after the deadline, and its handler with it", async () => {
  let ended = false;
  async function* rows() {
    try {
      for (;;) yield { ...book, title: "x".repeat(100_000) };
    } finally {
      ended = true;
    }
  }
  const use = async (_port: number, _url: string, listening: Listening) => {
    await unread(listening, "POST /books/stream HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n");
    await vi.waitFor(() => expect(ended).toBe(true));
  };
  await withServer({ booksStream: rows }, use, { stallMs: 100 });
});

test("a response that nobody reads is ended after the deadline", async () => {
  const notes = rawJson(`"${"x".repeat(20_000_000)}"`);
  const request = `${head}content-length: 34\r\n\r\n{"id":"b1","title":"T","notes":{}}`;
  const use = (_port: number, _url: string, listening: Listening) => unread(listening, request);
  await withServer({ bookCreate: () => ({ ...book, notes }) }, use, { stallMs: 100 });
});

test("a handler that takes longer than the deadline is not ended, nor is a client that reads slowly", async () => {
  const slow: Handler = async () => {
    await setTimeout(600);
    return { ...book, notes: rawJson(`"${"x".repeat(20_000_000)}"`) };
  };
  const use = async (_: number, url: string) => {
    const response = await fetch(`${url}/books`, { method: "POST", body: '{"id":"b1","title":"T","notes":{}}' });
    let size = 0;
    const reader = response.body?.getReader();
    for (let part = await reader?.read(); !part?.done; part = await reader?.read()) {
      size += part?.value.length ?? 0;
      await setTimeout(1);
    }
    expect(size).toBeGreaterThan(20_000_000);
  };
  await withServer({ bookCreate: slow }, use, { stallMs: 500 });
});
