import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { json, startUpstream } from "../../test/upstream.js";
import { openOutgoing } from "./outgoing.js";
import type { OutgoingOptions } from "./outgoing.js";

const secret = "sk-very-secret";

let upstream: Awaited<ReturnType<typeof startUpstream>>;
let elsewhere: Awaited<ReturnType<typeof startUpstream>>;
beforeAll(async () => {
  elsewhere = await startUpstream({ "GET /list": { from: "elsewhere" } });
  upstream = await startUpstream({
    "GET /list": { from: "upstream" },
    "POST /list": (response, { body }) => json(response, { got: JSON.parse(body) as unknown }),
    "GET /slow": () => {},
    "GET /stalls": (response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("some");
    },
    "GET /breaks": (response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("some", () => response.destroy());
    },
    "GET /announces": (response) => {
      response.writeHead(200, { "content-length": 5000 });
      response.write("x");
    },
    "GET /floods": (response) => {
      const more = () => !response.destroyed && response.write("x".repeat(500), more);
      more();
    },
    "GET /zipped": (response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end("x");
    },
    "GET /moved": (response) => redirect(response, "/list"),
    "POST /moved": (response) => redirect(response, "/list"),
    "GET /moved-away": (response) => redirect(response, `${elsewhere.url}/list`),
    "GET /moved-to-metadata": (response) => redirect(response, "http://169.254.169.254/latest/meta-data"),
    "GET /moved-to-file": (response) => redirect(response, "file:///etc/passwd"),
    "GET /moved-nowhere": (response) => redirect(response, "http://"),
    "GET /circle": (response) => redirect(response, "/circle"),
    "GET /chain": (response) => redirect(response, "/moved-away"),
  });
});
afterAll(async () => {
  await upstream.close();
  await elsewhere.close();
});

function redirect(response: Parameters<typeof json>[0], location: string): void {
  response.writeHead(302, { location });
  response.end();
}

function get(path: string, options: Partial<OutgoingOptions> = {}, signal?: AbortSignal) {
  const url = path.startsWith("/") ? `${upstream.url}${path}` : path;
  const outgoing = openOutgoing({
    origins: [new URL(url).origin],
    allowPrivate: true,
    timeoutMs: 5000,
    maxResponseBytes: 1000,
    ...options,
  });
  return outgoing({ method: "GET", url, headers: { authorization: `Bearer ${secret}` }, signal });
}

/** The code and the message, which must not hold the key; its cause may hold addresses and is for operators. */
async function failure(request: Promise<unknown>): Promise<[code: string, message: string]> {
  const error = await request.then(
    () => expect.unreachable("it succeeded"),
    (caught: unknown) => caught,
  );
  if (!(error instanceof HeddleError)) throw error;
  expect(`${error.message} ${String(error.cause)} ${error.stack}`).not.toContain(secret);
  return [error.code, error.message];
}

test("a request is sent and its response is read", async () => {
  const { status, body } = await get("/list");
  expect([status, body.toString()]).toEqual([200, '{"from":"upstream"}']);
  const outgoing = openOutgoing({ origins: [upstream.url], allowPrivate: true, timeoutMs: 5000 });
  const posted = await outgoing({ method: "POST", url: `${upstream.url}/list`, body: '{"é":1}' });
  expect(posted.body.toString()).toBe('{"got":{"é":1}}');
});

test("a request is reported when it has ended, with the status or the code of the error", async () => {
  const ended: unknown[] = [];
  const onEnd: OutgoingOptions["onEnd"] = ({ outcome, ms }) => ended.push([outcome, ms > 0]);
  await get("/list", { onEnd });
  await get("/moved", { onEnd });
  await failure(get("/slow", { onEnd, timeoutMs: 100 }));
  await failure(get("/circle", { onEnd }));
  expect(ended).toEqual([
    [200, true],
    [200, true],
    ["busy", true],
    ["denied", true],
  ]);
});

describe("a server that does not behave ends the request", () => {
  test.each([
    ["/slow", "busy", /did not respond within 0.2 s/],
    ["/stalls", "busy", /did not respond within 0.2 s/],
    ["/breaks", "busy", /closed the connection|connection failed/],
    ["/announces", "failed", /larger than 1000 bytes/],
    ["/floods", "failed", /larger than 1000 bytes/],
    ["/zipped", "failed", /compressed/],
  ])("%s", async (path, code, message) => {
    const timeoutMs = path === "/slow" || path === "/stalls" ? 200 : 5000;
    expect(await failure(get(path, { timeoutMs }))).toEqual([code, expect.stringMatching(message)]);
  });

  test("nothing listens", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const [code, message] = await failure(get(`http://127.0.0.1:${port}/`));
    expect([code, message]).toEqual(["busy", `127.0.0.1:${port} cannot be reached: it refuses connections`]);
  });

  test("it speaks no TLS", async () => {
    const [code] = await failure(get(upstream.url.replace("http:", "https:")));
    expect(code).toBe("busy");
  });

  test("it accepts the connection and never completes TLS", async () => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const request = get(`https://127.0.0.1:${port}/`, { connectTimeoutMs: 100 });
    expect(await failure(request)).toEqual(["busy", expect.stringMatching(/no connection in time/)]);
    server.close();
  });
});

test("a request that is too large is not sent", async () => {
  const before = upstream.received.length;
  const outgoing = openOutgoing({ origins: [upstream.url], allowPrivate: true, timeoutMs: 5000, maxRequestBytes: 10 });
  const request = outgoing({ method: "POST", url: `${upstream.url}/list`, body: "é".repeat(6) });
  expect(await failure(request)).toEqual(["too_large", expect.stringMatching(/larger than 10 bytes/)]);
  expect(upstream.received.length).toBe(before);
});

test("a client that disconnects ends the request at the other server", async () => {
  const closed = new Promise<void>((resolve) => {
    upstream.routes["GET /waits"] = (response) => {
      response.on("close", resolve);
      controller.abort();
    };
  });
  const controller = new AbortController();
  expect(await failure(get("/waits", {}, controller.signal))).toEqual(["aborted", "the client disconnected"]);
  await closed;
});

describe("redirects", () => {
  test("stay at the server", async () => expect((await get("/moved")).body.toString()).toBe('{"from":"upstream"}'));

  test.each(["/moved-away", "/chain", "/moved-to-metadata", "/moved-to-file", "/circle"])(
    "%s is not followed",
    async (path) => {
      const [code, message] = await failure(get(path));
      expect([code, message]).toEqual([
        "denied",
        expect.stringMatching(/redirects the request, which is not followed/),
      ]);
      expect(elsewhere.received).toEqual([]);
    },
  );

  test("to another origin is not followed, though requests may go there", async () => {
    expect(await failure(get("/moved-away", { origins: [upstream.url, elsewhere.url] }))).toEqual([
      "denied",
      expect.stringMatching(/not followed/),
    ]);
    expect(elsewhere.received).toEqual([]);
  });

  test("to no URL is an error", async () =>
    expect(await failure(get("/moved-nowhere"))).toEqual(["failed", expect.stringMatching(/to no URL/)]));

  test("of a request with a body are not followed", async () => {
    const outgoing = openOutgoing({ origins: [upstream.url], allowPrivate: true, timeoutMs: 5000 });
    const request = outgoing({ method: "POST", url: `${upstream.url}/moved`, body: "{}" });
    expect(await failure(request)).toEqual(["denied", expect.any(String)]);
  });
});

describe("addresses that are not public are refused before anything is sent", () => {
  const hosts = ["127.0.0.1", "[::1]", "169.254.169.254", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"];
  test.each([...hosts, "0.0.0.0"])("%s", async (host) => {
    const before = upstream.received.length;
    const request = get(`http://${host}:${upstream.port}/list`, { allowPrivate: false });
    expect(await failure(request)).toEqual([
      "denied",
      expect.stringMatching(/not public, and allowPrivate is not set/),
    ]);
    expect(upstream.received.length).toBe(before);
  });

  test("a name with a public and a private address", async () => {
    const resolve = async () => [
      { address: "8.8.8.8", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    const request = get(`http://mixed.example:${upstream.port}/list`, { allowPrivate: false, resolve });
    expect(await failure(request)).toEqual(["denied", expect.any(String)]);
  });

  test("the message does not name the address", async () => {
    const resolve = async () => [{ address: "10.11.12.13", family: 4 }];
    const [, message] = await failure(get("http://internal.example/list", { allowPrivate: false, resolve }));
    expect(message).toBe("internal.example has an address that is not public, and allowPrivate is not set");
  });
});

test("a name is resolved once, and the connection goes to the address that was checked", async () => {
  const resolved: string[] = [];
  // A name that is rebound between check and use: a second lookup would lead elsewhere.
  const resolve = async (hostname: string) => {
    resolved.push(hostname);
    return [{ address: resolved.length === 1 ? "127.0.0.1" : "127.0.0.2", family: 4 }];
  };
  const response = await get(`http://rebound.example:${upstream.port}/list`, { resolve });
  expect(response.status).toBe(200);
  expect(resolved).toEqual(["rebound.example"]);
  expect(upstream.received.at(-1)?.headers.host).toBe(`rebound.example:${upstream.port}`);
});

test("origins that are not configured are refused, also on the same host", async () => {
  const before = elsewhere.received.length;
  for (const url of [elsewhere.url, `http://localhost:${upstream.port}`, upstream.url.replace("http:", "https:")]) {
    const request = get(`${url}/list`, { origins: [upstream.url] });
    expect(await failure(request)).toEqual(["denied", expect.stringMatching(/not among the configured origins/)]);
  }
  expect(elsewhere.received.length).toBe(before);
});
