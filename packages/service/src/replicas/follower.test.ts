import { once } from "node:events";
import http from "node:http";
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { HttpServer } from "@heddle/server-stub";
import { listen } from "@heddle/server-stub/node";
import type { Listening } from "@heddle/server-stub/node";
import { Follower } from "./follower.js";
import { acceptHops } from "./hop.js";

/** As those of a control plane that both replicas share. */
const control = {
  urlSignatures: {
    sign: (keyId: string, text: string) => `signed-${keyId}-${text}`,
    verify: (keyId: string, text: string, signature: string) => signature === `signed-${keyId}-${text}`,
  },
};

const open: Listening[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close(0);
});

async function serve(server: HttpServer, port = 0): Promise<Listening> {
  const listening = await listen(server, { port });
  open.push(listening);
  return listening;
}

/** A replica that does the work itself, as `server` does. */
async function writer(server: HttpServer, port = 0): Promise<Listening> {
  return await serve(acceptHops(control, { direct: server, forwarded: server, whole: server }), port);
}

/** A replica that sends requests to `address`. */
async function follower(address?: string, options: { holdMs?: number } = {}) {
  const following = new Follower(control, options);
  if (address !== undefined) following.writerIs({ holder: "the writer", address });
  const { server: direct, forwarded, whole } = following;
  const { url } = await serve(acceptHops(control, { direct, forwarded, whole }));
  return { following, url };
}

const textOf = async (stream: AsyncIterable<Uint8Array>): Promise<string> => {
  let text = "";
  for await (const chunk of stream) text += Buffer.from(chunk).toString();
  return text;
};

const ok: HttpServer = async () => ({ status: 200, headers: {}, body: "ok" });

test("a request arrives as it was sent, with the address of its client, and its response as it was made", async () => {
  let seen: unknown;
  const { url: address } = await writer(async (request) => {
    const { method, target, remoteAddress } = request;
    const [kept, host, id] = ["x-kept", "host", "x-request-id"].map((name) => request.header(name));
    seen = { method, target, remoteAddress, kept, host, id, body: await textOf(request.stream(100)) };
    return { status: 207, headers: { "x-made": "there", "content-type": "text/plain" }, body: "done" };
  });
  const { url } = await follower(address);
  const response = await fetch(`${url}/some/path?a=%20b`, {
    method: "PUT",
    headers: { "x-kept": "yes", "x-request-id": "asked" },
    body: "sent",
  });
  expect([response.status, response.headers.get("x-made"), await response.text()]).toEqual([207, "there", "done"]);
  expect(seen).toEqual({
    method: "PUT",
    target: "/some/path?a=%20b",
    remoteAddress: "127.0.0.1",
    kept: "yes",
    host: new URL(url).host,
    id: "asked",
    body: "sent",
  });
});

test("bodies pass as they come, in both directions", async () => {
  const { url: address } = await writer(async (request) => ({
    status: 200,
    headers: {},
    body: async (sink) => {
      for await (const chunk of request.stream(Infinity)) await sink.write(chunk);
    },
  }));
  const { url } = await follower(address);
  const sent = http.request(url, { method: "POST" });
  sent.write("first");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const [first] = (await once(response, "data")) as [Buffer];
  expect(first.toString()).toBe("first");
  sent.end("second");
  const [second] = (await once(response, "data")) as [Buffer];
  expect(second.toString()).toBe("second");
});

test("a hundred megabytes pass without being kept on the way, and so does the response for a client that reads slowly", async () => {
  const megabyte = Buffer.alloc(1_048_576, 7);
  const [mostKept, all] = [48, 100];
  let read = () => {};
  const isRead = new Promise<void>((resolve) => (read = resolve));
  let [received, written] = [0, 0];
  const { url: address } = await writer(async (request) => {
    await isRead;
    for await (const chunk of request.stream(Infinity)) received += chunk.length;
    return {
      status: 200,
      headers: {},
      body: async (sink) => {
        for (; written < all; written++) await sink.write(megabyte);
      },
    };
  });
  const { url } = await follower(address);
  const sent = http.request(url, { method: "POST", headers: { "content-length": all * megabyte.length } });
  const responded = once(sent, "response") as Promise<[IncomingMessage]>;
  let passed = 0;
  const sending = (async () => {
    for (; passed < all; passed++) if (!sent.write(megabyte)) await once(sent, "drain");
    sent.end();
  })();
  await Promise.race([sending, delay(500)]);
  expect(passed).toBeLessThan(mostKept);
  read();
  await sending;
  const [response] = await responded;
  expect(received).toBe(all * megabyte.length);
  await delay(500);
  expect(written).toBeLessThan(mostKept);
  let back = 0;
  for await (const chunk of response) back += (chunk as Buffer).length;
  expect(back).toBe(all * megabyte.length);
});

test("a replica that renews its lease and cannot be reached is waited for, and then the client is told to try again", async () => {
  const { url } = await follower("http://127.0.0.1:1", { holdMs: 300 });
  const response = await fetch(url, { method: "POST", body: "x" });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await response.text()).toContain("No replica works on the traces now: try again");
});

test("a client that leaves ends its request at the other replica", async () => {
  let aborted: (reason: unknown) => void = () => {};
  const left = new Promise((resolve) => (aborted = resolve));
  const { url: address } = await writer(async (request) => {
    request.signal.addEventListener("abort", () => aborted("aborted"));
    return await new Promise(() => {});
  });
  const { url } = await follower(address);
  const leaving = new AbortController();
  const request = fetch(url, { method: "POST", body: "x", signal: leaving.signal });
  setTimeout(() => leaving.abort(), 100);
  await expect(request).rejects.toThrow();
  expect(await left).toBe("aborted");
});

test("a request waits for the replica that takes over, and is sent there whole", async () => {
  const { following, url } = await follower("http://127.0.0.1:1");
  const response = fetch(url, { method: "POST", body: "kept" });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { url: address } = await writer(async (request) => ({
    status: 200,
    headers: {},
    body: await textOf(request.stream(100)),
  }));
  following.writerIs({ holder: "the next", address });
  expect(await (await response).text()).toBe("kept");
});

test("a request that waits is answered here when this replica takes over", async () => {
  const { following, url } = await follower();
  const response = fetch(url, { method: "POST", body: "kept" });
  await new Promise((resolve) => setTimeout(resolve, 100));
  following.opens();
  following.isWriter(async (request) => ({ status: 200, headers: {}, body: await textOf(request.stream(100)) }));
  expect(await (await response).text()).toBe("kept");
});

test("what was sent to a replica that ends is not sent again: the client is told that it may be stored", async () => {
  const requests: string[] = [];
  const stalled = http.createServer((request) => {
    requests.push(request.url ?? "");
    if (request.url === "/cut") request.socket.destroy();
  });
  stalled.listen(0, "127.0.0.1");
  await once(stalled, "listening");
  const address = `http://127.0.0.1:${(stalled.address() as { port: number }).port}`;
  const { following, url } = await follower(address);
  const cut = await fetch(`${url}/cut`, { method: "POST", body: "x" });
  expect([cut.status, cut.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await cut.text()).toContain("may be stored");

  const replaced = fetch(`${url}/stalled`, { method: "POST", body: "x" });
  await expect.poll(() => requests).toEqual(["/cut", "/stalled"]);
  following.writerIs({ holder: "the next", address: (await writer(ok)).url });
  expect((await replaced).status).toBe(503);
  stalled.close();
  stalled.closeAllConnections();
});

test("a request that was forwarded is not forwarded again, and nobody else can say so", async () => {
  const { url: address } = await writer(ok);
  const { url } = await follower(address);
  const hop = (signature: string) =>
    fetch(url, { headers: { "heddle-forwarded": `127.0.0.1 ${signature}` } }).then(({ status }) => status);
  expect(await hop("signed-replica-127.0.0.1")).toBe(503);
  expect(await hop("signed-replica-127.0.0.2")).toBe(401);
  expect((await fetch(url)).status).toBe(200);
});

/** A replica that works on `/v2/acme/demo/calls/complete` itself, and knows another one that works on all of it. */
async function knowing(url: string) {
  const opened = await follower();
  const sent = { count: 0 };
  const here: HttpServer = async (request) => ({
    status: 200,
    headers: {},
    body: `here: ${await textOf(request.stream(Infinity))}`,
  });
  const elsewhere = { url: new URL(url), replaced: new AbortController().signal, onResponse: () => void sent.count++ };
  opened.following.worksLocally(here, () => elsewhere);
  const post = async (body: string, headers = {}) =>
    await fetch(`${opened.url}/v2/acme/demo/calls/complete`, { method: "POST", body, headers });
  return { post, sent };
}

test("what another replica works on for whole is sent there as it came, and not sent on by that one", async () => {
  const { url: last } = await writer(ok);
  const middle = await knowing(last);
  const seen: unknown[] = [];
  const { url: address } = await writer(async (request) => {
    seen.push(request.remoteAddress, await textOf(request.stream(100)));
    return { status: 202, headers: {}, body: "there" };
  });
  const { post, sent } = await knowing(address);
  const response = await post("sent");
  expect([response.status, await response.text()]).toEqual([202, "there"]);
  expect(seen).toEqual(["127.0.0.1", "sent"]);
  expect(sent.count).toBe(1);

  const hop = async (signature: string) => await middle.post("x", { "heddle-sent-whole": `10.0.0.1 ${signature}` });
  expect(await (await hop("signed-replica-10.0.0.1")).text()).toBe("here: x");
  expect((await hop("signed-replica-10.0.0.2")).status).toBe(401);
  expect(await (await middle.post("x")).text()).toBe("ok");
});

test.each(["short", "long ".repeat(500_000)])(
  "what another replica would have worked on is worked on here when that one cannot be reached (%#)",
  async (body) => {
    const { post, sent } = await knowing("http://127.0.0.1:1");
    expect(await (await post(body)).text()).toBe(`here: ${body}`);
    expect(sent.count).toBe(0);
  },
);

test("what a replica that stops refuses is worked on here, and what one that ends has not answered may be stored", async () => {
  const stopping = await writer(async () => ({ status: 503, headers: { "heddle-stopping": "true" }, body: "" }));
  expect(await (await (await knowing(stopping.url)).post("x")).text()).toBe("here: x");
  const ending = http.createServer((request) => request.socket.destroy());
  ending.listen(0, "127.0.0.1");
  await once(ending, "listening");
  const { port } = ending.address() as { port: number };
  const cut = await (await knowing(`http://127.0.0.1:${port}`)).post("x");
  expect([cut.status, await cut.text()]).toEqual([503, expect.stringContaining("may be stored")]);
  ending.close();
});

test("whether this process lives does not depend on another one", async () => {
  const { url } = await follower();
  expect(await (await fetch(`${url}/v1/health`)).json()).toEqual({ status: "ok" });
});

test("a body that stalls, or is too much at once, is refused as everywhere", async () => {
  const following = new Follower(control);
  const { url } = await listen(following.server, { bodyStallMs: 100 }).then((each) => (open.push(each), each));
  const sent = http.request(url, { method: "POST", headers: { "content-length": "10" } });
  sent.on("error", () => {});
  sent.write("half");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(408);
  sent.destroy();
});
