import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openControlPlane } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { FairShare } from "@heddle/concurrency";
import { Problem } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";
import { listen } from "@heddle/server-stub/node";
import type { Listening } from "@heddle/server-stub/node";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withScope } from "../limits/with-scope.js";
import { authenticate } from "./authenticate.js";
import { watchKeys } from "./watch-keys.js";
import type { KeyWatch } from "./watch-keys.js";

let directory: string;
let control: ControlPlane;
let keys: KeyWatch;
let listening: Listening | undefined;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "heddle-keys-"));
  control = await openControlPlane({ url: pathToFileURL(join(directory, "control.db")).href });
  keys = watchKeys(control, 20);
});
afterEach(async () => {
  keys.stop();
  await listening?.close(0);
  await control.close();
  rmSync(directory, { recursive: true });
});

/** A server of one handler for requests with a key, which responds with the status of a problem that it throws. */
async function serve(handle: (request: HttpRequest) => Promise<HttpResponse>): Promise<string> {
  const messages = { key: "", entity: "", all: "" };
  const memory = new FairShare({ capacity: 1e6, perKey: 1e6, perEntity: 1e6, messages });
  const server = withScope(
    async (request) => {
      try {
        await authenticate({ control, config: { publicUrls: [] } }, request);
        return await handle(request);
      } catch (error) {
        return { status: error instanceof Problem ? error.status : 500, headers: {}, drain: true };
      }
    },
    { memory, maxBytes: 1e6, observers: [keys] },
  );
  listening = await listen(server);
  return listening.url;
}

async function newKey() {
  const { key, secret } = await control.keys.create({ user_name: "ann", entity: "acme", role: "write" });
  return { id: key.id, headers: { authorization: `Bearer ${secret}` } };
}

test("a stream ends when its key is revoked, and those of other keys go on", async () => {
  const url = await serve(async () => ({
    status: 200,
    headers: {},
    async body(sink) {
      for (let n = 0; !sink.closed; n++) {
        await sink.write(`${n}\n`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  }));
  const [ended, kept] = [await newKey(), await newKey()];
  const readers = await Promise.all(
    [ended, kept].map(async ({ headers }) => (await fetch(url, { headers })).body?.getReader()),
  );
  await Promise.all(readers.map(async (reader) => await reader?.read()));
  await control.keys.revoke(ended.id);
  const toEnd = async () => {
    for (;;) await readers[0]?.read();
  };
  await expect(toEnd()).rejects.toThrow();
  expect((await readers[1]?.read())?.done).toBe(false);
  await readers[1]?.cancel();
});

test("work that waits is aborted, and its request gets 401", async () => {
  const url = await serve(
    async ({ signal }) =>
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  );
  const { id, headers } = await newKey();
  const response = fetch(url, { headers });
  await new Promise((resolve) => setTimeout(resolve, 50));
  await control.keys.revoke(id);
  expect((await response).status).toBe(401);
});

test.each(["stream", "bytes"] as const)("an upload that is read as %s is not taken to its end", async (how) => {
  const taken: string[] = [];
  const url = await serve(async (request) => {
    if (how === "bytes") taken.push(Buffer.from(await request.bytes(100)).toString());
    else for await (const chunk of request.stream(100)) taken.push(Buffer.from(chunk).toString());
    return { status: 200, headers: {} };
  });
  const { id, headers } = await newKey();
  const socket = connect(Number(new URL(url).port), "127.0.0.1").setEncoding("latin1");
  const response = new Promise<string>((resolve) => socket.once("data", (chunk: string) => resolve(chunk)));
  socket.write(`PUT / HTTP/1.1\r\nhost: a\r\nauthorization: ${headers.authorization}\r\ncontent-length: 10\r\n\r\n`);
  socket.write("early");
  await new Promise((resolve) => setTimeout(resolve, 50));
  await control.keys.revoke(id);
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.write("later");
  expect(await response).toMatch(/^HTTP\/1\.1 401 /);
  expect(taken).toEqual(how === "stream" ? ["early"] : []);
  socket.destroy();
});
