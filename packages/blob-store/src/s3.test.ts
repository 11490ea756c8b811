import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { blobStoreCases } from "../test/cases.js";
import { startS3Server } from "../test/s3-server.js";
import { openBlobStore } from "./open.js";
import type { BlobStore } from "./port.js";
import { addressOf, s3Client } from "./s3-request.js";
import { openS3 } from "./s3.js";

const bucket = "heddle-test";
const small = { partBytes: 1000, copyBytes: 3000, page: 3 };
let server: Awaited<ReturnType<typeof startS3Server>>;
beforeAll(async () => {
  server = await startS3Server(bucket);
});
afterAll(async () => {
  await server.close();
});

blobStoreCases(
  "S3",
  async () => await openBlobStore({ url: `s3://${bucket}/some/prefix`, s3: server.access }),
  (key) => server.age({ key: `some/prefix/${key}` }),
);

test.each([
  ["a bucket on AWS", "traces", {}, "https://traces.s3.eu-west-1.amazonaws.com/"],
  ["one with a dot in its name", "my.traces", {}, "https://s3.eu-west-1.amazonaws.com/my.traces/"],
  ["one on another server", "traces", { endpoint: "http://minio:9000/s3" }, "http://minio:9000/s3/traces/"],
])("%s has its address", (_, name, location, address) => {
  const access = { region: "eu-west-1", accessKeyId: "a", secretAccessKey: "b", ...location };
  expect(addressOf(name, access).href).toBe(address);
});

describe("blobs in S3", () => {
  let store: BlobStore;
  // Parts of 1 kB, copies of 3 kB, pages of 3 keys: little content covers every way.
  beforeEach(async () => {
    store = await openS3(`s3://${bucket}/small`, server.access, small);
  });

  test.each([999, 1000, 1001, 2500, 3000, 3001, 9000])("a stream of %i bytes comes back complete", async (size) => {
    const content = randomBytes(size);
    const { key } = await store.put(chunked(content, 300));
    expect(await contentOf(store, key)).toEqual(content);
    expect(await contentOf(store, key, { start: size - 10 })).toEqual(content.subarray(size - 10));
    expect(server.unfinished()).toEqual([]);
  });

  test("bytes in memory are stored in the same ways", async () => {
    const content = randomBytes(7000);
    const { key } = await store.put(content);
    expect(await contentOf(store, key)).toEqual(content);
  });

  test("an upload of parts of 8 MB is made by default", async () => {
    const standard = await openBlobStore({ url: `s3://${bucket}`, s3: server.access });
    const content = Buffer.alloc(17 * 1024 * 1024, "heddle ");
    const before = (await server.requests()).length;
    const { key, size } = await standard.put(chunked(content, 1024 * 1024));
    expect(size).toBe(content.length);
    const parts = (await server.requests()).slice(before).filter((line) => /^PUT .*\/tmp\//.test(line));
    expect(parts).toHaveLength(3);
    const hash = createHash("sha256");
    for await (const chunk of (await standard.get(key)).stream) hash.update(chunk);
    expect(key).toContain(hash.digest("hex"));
  });

  test("a stream that breaks off after some parts, or is not the announced one, leaves nothing", async () => {
    const before = await listed(store);
    await expect(store.put(broken())).rejects.toThrow("the upload broke off");
    const expectedSha256 = "0".repeat(64);
    await expect(store.put(chunked(randomBytes(2500), 300), { expectedSha256 })).rejects.toMatchObject({
      code: "conflict",
    });
    expect(server.unfinished()).toEqual([]);
    expect(await listed(store)).toEqual(before);
  });

  test("content that was put a moment ago is not sent again", async () => {
    const content = randomBytes(500);
    const { key } = await store.put(content);
    const before = (await server.requests()).length;
    await store.put(content);
    expect((await server.requests()).slice(before)).toEqual([`HEAD /${bucket}/small/${key}`]);
  });

  test.each([500, 2500, 4500])(
    "content of %i bytes that is put again stays, whatever a collector deletes that was suspended when it had found it old",
    async (size) => {
      const content = randomBytes(size);
      const { key } = await store.put(content);
      const { send } = s3Client(bucket, server.access);
      const deleteLate = async () => await send({ method: "DELETE", key: `small/${key}` });
      server.age({ key: `small/${key}` });
      await store.put(content);
      await deleteLate();
      expect(await contentOf(store, key)).toEqual(content);
      await deleteLate();
      expect(await store.stat(key)).toMatchObject({ size });

      // A day later, whether or not somebody has read it.
      const renewed = `small/${key.replace("sha256", "renewed")}`;
      await deleteLate();
      server.age({ key: renewed });
      const putBefore = BigInt(Date.now()) * 1000n - 86_400_000_000n;
      await store.discardDrafts(putBefore);
      expect(await contentOf(store, key)).toEqual(content);
      server.age({ key: `small/${key}` });
      expect(await store.delete(key, { putBefore })).toBe(true);
      expect(await store.stat(key)).toBeUndefined();
    },
  );

  test("a request that fails once is sent again, a server that keeps failing is busy", async () => {
    const content = randomBytes(500);
    await server.failNext(503, 0, 500);
    const { key } = await store.put(content);
    expect(await contentOf(store, key)).toEqual(content);
    await server.failNext(503, 503, 503, 503);
    await expect(store.stat(key)).rejects.toMatchObject({ code: "busy" });
  });

  test("uploads that a crash left are discarded when they are old", async () => {
    const hour = 3_600_000_000n;
    async function* crash() {
      yield randomBytes(2500);
      // The next two requests are the last part and the abort.
      await server.failNext(...Array.from({ length: 8 }, () => 503));
      yield randomBytes(1000);
    }
    await expect(store.put(crash())).rejects.toMatchObject({ code: "busy" });
    const left = server.unfinished();
    expect(left).toHaveLength(1);
    await store.discardDrafts(BigInt(Date.now()) * 1000n - hour);
    await openS3(`s3://${bucket}/small`, server.access, small);
    expect(server.unfinished()).toEqual(left);
    // A day later the next start does it, of its own prefix.
    server.age({ upload: left[0] ?? "" });
    await openS3(`s3://${bucket}/smal`, server.access, small);
    expect(server.unfinished()).toEqual(left);
    await openS3(`s3://${bucket}/small`, server.access, small);
    expect(server.unfinished()).toEqual([]);
  });

  test("lists page by page", async () => {
    const many = await openS3(`s3://${bucket}/many`, server.access, small);
    const contents = Array.from({ length: 7 }, (_, i) => Buffer.from(`blob ${i}`));
    const keys = await Promise.all(contents.map(async (content) => (await many.put(content)).key));
    expect(await listed(many)).toEqual(keys.toSorted());
  });

  test("a response that is cut off is not a complete blob", async () => {
    const { key } = await store.put(randomBytes(5000));
    const { stream } = await store.get(key);
    await server.failNext(-1);
    await expect(drained(stream)).rejects.toMatchObject({
      code: "busy",
      cause: { message: expect.stringContaining("the connection broke") },
    });
    expect((await contentOf(store, key)).length).toBe(5000);
  });

  test("a server that hangs is busy, at every step, and serves again when it wakes", async () => {
    const impatient = { ms: 300, bytesPerMs: 200, longMs: 300 };
    const url = `s3://${bucket}/hangs`;
    const hanging = await openS3(url, server.access, small, impatient);
    const content = randomBytes(2500);
    const { key } = await hanging.put(content);
    const busy = { code: "busy", cause: { message: expect.stringContaining("nothing came for 0.3 s") } };
    async function* stopping() {
      yield randomBytes(1500);
      server.stop();
      yield randomBytes(1500);
    }
    try {
      await expect(hanging.put(stopping())).rejects.toMatchObject(busy);
      await expect(openS3(url, server.access, small, impatient)).rejects.toMatchObject(busy);
      await expect(hanging.get(key)).rejects.toMatchObject(busy);
      await expect(listed(hanging)).rejects.toMatchObject(busy);
    } finally {
      server.resume();
    }
    await expect.poll(async () => await hanging.stat(key).catch(() => undefined)).toMatchObject({ size: 2500 });
    expect(await contentOf(hanging, key)).toEqual(content);
  });

  test("a prefix may hold spaces and signs, but does not lead out of the bucket", async () => {
    const odd = await openS3(`s3://${bucket}/a b/100%/ü~`, server.access, small);
    const content = randomBytes(4500);
    const { key } = await odd.put(chunked(content, 300));
    expect(await contentOf(odd, key)).toEqual(content);
    expect(await listed(odd)).toEqual([key]);
    await expect(openS3(`s3://${bucket}/../x`, server.access)).rejects.toMatchObject({ code: "invalid" });
  });

  test("temporary credentials, the region and no wish for compression are sent, and a redirect is not followed", async () => {
    const asked: IncomingMessage[] = [];
    const other = await httpServer((request, response) => {
      asked.push(request);
      response.end();
    });
    const here = await httpServer((request, response) => {
      asked.push(request);
      response.writeHead(307, { location: other.url }).end("<Error><Code>TemporaryRedirect</Code></Error>");
    });
    const access = { ...server.access, endpoint: here.url, region: "eu-west-7", sessionToken: "for an hour" };
    await expect(openS3(`s3://${bucket}`, access)).rejects.toMatchObject({
      code: "denied",
      cause: { message: expect.stringContaining("TemporaryRedirect") },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.headers).toMatchObject({
      "accept-encoding": "identity",
      "x-amz-security-token": "for an hour",
      authorization: expect.stringContaining("/eu-west-7/s3/aws4_request"),
    });
    await Promise.all([here.close(), other.close()]);
  });

  test("a server that is not S3 is recognised", async () => {
    for (const status of [200, 404]) {
      const website = await httpServer((_, response) => response.writeHead(status).end("<html>hello</html>"));
      const opened = openS3(`s3://${bucket}`, { ...server.access, endpoint: website.url });
      await expect(opened).rejects.toMatchObject({ cause: { message: expect.stringContaining("S3") } });
      await website.close();
    }
  });

  test("a missing bucket, wrong credentials and an unreachable server are distinguished", async () => {
    const { access } = server;
    const refused = { code: "denied", message: "the file store refuses this service" };
    await expect(openBlobStore({ url: "s3://no-such-bucket/x", s3: access })).rejects.toMatchObject({
      ...refused,
      cause: { message: 'S3 has no bucket "no-such-bucket": create it, or correct HEDDLE_BLOBS_URL' },
    });
    const stranger = { ...access, secretAccessKey: "wrong" };
    await expect(openBlobStore({ url: `s3://${bucket}`, s3: stranger })).rejects.toMatchObject({
      ...refused,
      cause: {
        message: expect.stringContaining(
          `S3 denies access to the bucket "${bucket}" at ${access.endpoint}: SignatureDoesNotMatch`,
        ),
      },
    });
    const unreachable = { ...access, endpoint: "http://127.0.0.1:9" };
    await expect(openBlobStore({ url: `s3://${bucket}`, s3: unreachable })).rejects.toMatchObject({
      code: "busy",
      message: "the file store does not respond",
      cause: { message: expect.stringContaining("no response from S3 at http://127.0.0.1:9") },
    });
    await expect(openBlobStore({ url: "s3://Not_A_Bucket", s3: access })).rejects.toMatchObject({ code: "invalid" });
    await expect(openBlobStore({ url: `s3://${bucket}` })).rejects.toMatchObject({ code: "invalid" });
  });
});

async function httpServer(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const http = createServer(listener).listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}

async function drained(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of stream);
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield randomBytes(2500);
  throw new Error("the upload broke off");
}

async function* chunked(content: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < content.length; start += size) yield content.subarray(start, start + size);
}

async function contentOf(store: BlobStore, key: string, range?: { start: number }): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const reader = await store.get(key, { ...(range && { range }), verify: range === undefined });
  for await (const chunk of reader.stream) parts.push(chunk);
  return Buffer.concat(parts);
}

async function listed(store: BlobStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list()) keys.push(key);
  return keys;
}
