import { connect } from "node:net";
import { describe, expect, test, vi } from "vitest";
import type { HttpServer } from "../src/http.js";
import { listen } from "../src/node/node.js";
import type { ListenOptions, RefusedRequest } from "../src/node/node.js";
import { drivers } from "./drivers.js";
import { libraryServer } from "./library.js";
import type { Handler } from "./library.js";

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const ask = { method: "POST", body: '{"question":"why?"}' };
const broken = () => {
  throw new Error("broken");
};
const handlers: Record<string, Handler> = {
  readHealth: () => ({ ok: true }),
  bookAsk: broken,
  async *booksStream() {
    yield { id: "a" };
  },
};

describe.each(Object.entries(drivers))("over the %s adapter", (_, drive) => {
  test.each<[string, string, RequestInit, number]>([
    ["a response", "/health", {}, 200],
    ["a response to HEAD", "/health", { method: "HEAD" }, 200],
    ["a stream", "/books/stream", { method: "POST" }, 200],
    ["an unknown path", "/nope", {}, 404],
    ["an unexpected error", "/books/ask", ask, 500],
    ["a missing handler", "/books", { method: "POST", body: "{}" }, 501],
  ])("%s has the id of its request", async (_name, path, init, status) => {
    await drive(libraryServer(handlers), async (send) => {
      const given = await send(path, { ...init, headers: { "X-Request-Id": "rollout-7/a:b" } });
      expect([given.status, given.headers.get("x-request-id")]).toEqual([status, "rollout-7/a:b"]);
      const answered = await send(path, init);
      expect([answered.status, answered.headers.get("x-request-id")]).toEqual([status, expect.stringMatching(uuid)]);
      await Promise.all([given.text(), answered.text()]);
    });
  });

  test.each([
    ["empty", ""],
    ["long", "a".repeat(129)],
    ["with a space", "a b"],
    ["two at once", "a, b"],
    ["beyond ASCII", "é"],
  ])("an id that is %s is replaced", async (_name, id) => {
    await drive(libraryServer(handlers), async (send) => {
      const response = await send("/health", { headers: { "x-request-id": id } });
      expect(response.headers.get("x-request-id")).toMatch(uuid);
    });
  });

  test("handlers and the servers that a server hands on to get the same id", async () => {
    const fallback: HttpServer = async ({ id = "" }) => ({ status: 200, headers: {}, body: id });
    let seen: unknown;
    const readHealth: Handler = (request) => {
      seen = (request as { requestId?: string }).requestId;
      return { ok: true };
    };
    await drive(libraryServer({ readHealth }, { fallback }), async (send) => {
      const headers = { "x-request-id": "mine" };
      await send("/health", { headers });
      expect([seen, await (await send("/elsewhere", { headers })).text()]).toEqual(["mine", "mine"]);
    });
  });
});

describe("a request that never reaches the server has a response with an id, and is reported", () => {
  test.each<[string, string, ListenOptions, number, string]>([
    ["no HTTP", "\u0016\u0003\u0001 hello\r\n\r\n", {}, 400, "The request is not HTTP"],
    ["without a host", "GET /health HTTP/1.1\r\n\r\n", {}, 400, "The header Host is missing"],
    [
      "with headers that are too long",
      `GET /health HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
      {},
      431,
      "The headers of the request are too long",
    ],
    [
      "with headers that do not end",
      "GET /health HTTP/1.1\r\n",
      { headersMs: 50 },
      408,
      "The headers of the request did not come in time",
    ],
    [
      "with an expectation",
      "GET /health HTTP/1.1\r\nhost: a\r\nexpect: miracles\r\n\r\n",
      {},
      417,
      "The only expectation that can be met is 100-continue",
    ],
    [
      "on one connection too many",
      "GET /health HTTP/1.1\r\nhost: a\r\n\r\n",
      { maxConnections: 0 },
      503,
      "Too many connections: at most 0 at once (maxConnections)",
    ],
  ])("%s", async (_, request, options, status, reason) => {
    const refused: RefusedRequest[] = [];
    const listening = await listen(libraryServer(handlers), {
      ...options,
      onRefused: (each) => refused.push(each),
    });
    try {
      const response = await exchange(listening.port, request);
      const [, id] = /\r\nx-request-id: (\S+)\r\n/i.exec(response) ?? [];
      expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(response).toMatch(/\r\nconnection: close\r\n/i);
      expect(JSON.parse(response.split("\r\n\r\n")[1] ?? "")).toEqual({ reason, detail: reason });
      expect(refused).toEqual([{ requestId: expect.stringMatching(uuid), status, reason }]);
      expect(refused[0]?.requestId).toBe(id);
    } finally {
      await listening.close(0);
    }
  });

  test("unless a response is on its way: then the connection ends", async () => {
    const refused = vi.fn<(request: RefusedRequest) => void>();
    const server = libraryServer({
      async *booksStream({ signal }) {
        yield { id: "a" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const listening = await listen(server, { onRefused: refused });
    try {
      const stream = "POST /books/stream HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n";
      const response = await exchange(listening.port, stream, (text) => (text.includes('"a"') ? "\u0000\r\n\r\n" : ""));
      expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
      expect(refused).not.toHaveBeenCalled();
    } finally {
      await listening.close(0);
    }
  });
});

/** What comes back until the connection closes; `more` returns what is sent after what came. */
function exchange(port: number, first: string, more: (received: string) => string = () => ""): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(first));
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      received += chunk;
      socket.write(more(received));
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(received));
  });
}
