import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectGarbage } from "../src/index.js";
import type { BlobStore } from "../src/index.js";

/** What a user may expect of any backend. `open` gives an empty store, `age` makes a blob of it two hours old. */
export function blobStoreCases(backEnd: string, open: () => Promise<BlobStore>, age: (key: string) => void): void {
  describe(`a blob store in ${backEnd}`, () => {
    let store: BlobStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(async () => {
      await store.close();
    });

    test("gives back what was put, under a key made of its digest", async () => {
      const info = await store.put(bytes("hello"));
      expect(info).toEqual({ key: keyOf("hello"), size: 5, sha256: hex("hello") });
      expect(await store.stat(info.key)).toEqual(info);
      expect(await text(store, info.key)).toBe("hello");
    });

    test("keeps an empty blob", async () => {
      const { key, size } = await store.put(new Uint8Array());
      expect(size).toBe(0);
      expect(await text(store, key)).toBe("");
    });

    test("takes a stream and delivers one", async () => {
      const content = Array.from({ length: 500 }, (_, i) => `part ${i} ${"x".repeat(2000)}`);
      const info = await store.put(chunks(content));
      expect(info).toEqual({
        key: keyOf(content.join("")),
        size: content.join("").length,
        sha256: hex(content.join("")),
      });
      const reader = await store.get(info.key, { verify: true });
      const received: Uint8Array[] = [];
      for await (const chunk of reader.stream) received.push(chunk);
      expect(received.length).toBeGreaterThan(1);
      expect(Buffer.concat(received).toString()).toBe(content.join(""));
    });

    test("puts of the same content at the same time all succeed", async () => {
      const puts = Array.from({ length: 12 }, (_, i) => store.put(i % 2 ? bytes("shared") : chunks(["sha", "red"])));
      const keys = await Promise.all(puts);
      expect(new Set(keys.map(({ key }) => key))).toEqual(new Set([keyOf("shared")]));
      expect(await text(store, keyOf("shared"))).toBe("shared");
    });

    test("refuses content that is not the expected one and keeps nothing of it", async () => {
      const expectedSha256 = hex("announced");
      for (const source of [bytes("sent"), chunks(["se", "nt"])]) {
        await expect(store.put(source, { expectedSha256 })).rejects.toMatchObject({
          code: "conflict",
        });
      }
      expect(await store.stat(keyOf("sent"))).toBeUndefined();
      await expect(store.put(bytes("announced"), { expectedSha256 })).resolves.toMatchObject({
        sha256: expectedSha256,
      });
      await expect(store.put(bytes("x"), { expectedSha256: "not hex" })).rejects.toMatchObject({ code: "invalid" });
    });

    test("a source that fails leaves nothing", async () => {
      const before = await keys(store);
      await expect(store.put(failing())).rejects.toThrow("the upload broke off");
      expect(await keys(store)).toEqual(before);
    });

    test("reads ranges", async () => {
      const { key } = await store.put(bytes("0123456789"));
      const read = async (range: { start: number; end?: number }) => await text(store, key, { range });
      expect(await read({ start: 0, end: 0 })).toBe("0");
      expect(await read({ start: 3, end: 5 })).toBe("345");
      expect(await read({ start: 7 })).toBe("789");
      expect(await read({ start: 8, end: 500 })).toBe("89");
      expect(await store.get(key, { range: { start: 8, end: 500 } })).toMatchObject({ start: 8, end: 10, size: 10 });
      for (const range of [{ start: 10 }, { start: -1 }, { start: 5, end: 4 }, { start: 0.5 }, { start: NaN }]) {
        await expect(store.get(key, { range })).rejects.toMatchObject({ code: "invalid" });
      }
    });

    test("a missing blob is not found, before anything is streamed", async () => {
      expect(await store.stat(keyOf("never put"))).toBeUndefined();
      await expect(store.get(keyOf("never put"))).rejects.toMatchObject({ code: "not_found" });
    });

    test("deletes, returns whether there was something, and stores the content again", async () => {
      const { key } = await store.put(bytes("short-lived"));
      expect(await store.delete(key)).toBe(true);
      expect(await store.delete(key)).toBe(false);
      await expect(store.get(key)).rejects.toMatchObject({ code: "not_found" });
      await store.put(bytes("short-lived"));
      expect(await text(store, key)).toBe("short-lived");
    });

    test("lists every blob once, in order, with its size and age", async () => {
      const before = BigInt(Date.now() - 2000) * 1000n;
      const { key } = await store.put(bytes("listed"));
      const listed = await keys(store);
      expect(listed).toEqual([...new Set(listed)].toSorted());
      for await (const entry of store.list()) {
        if (entry.key === key) {
          expect(entry).toMatchObject({ size: 6, sha256: hex("listed") });
          expect(entry.modifiedAt).toBeGreaterThan(before);
        }
      }
      expect(listed).toContain(key);
    });

    test("garbage collection deletes what nothing refers to, but nothing young", async () => {
      const { key: kept } = await store.put(bytes("named"));
      const { key: lost } = await store.put(bytes("named by nothing"));
      const others = new Set((await keys(store)).filter((key) => key !== lost));
      const named = async (asked: readonly string[]) => new Set(asked.filter((key) => others.has(key)));
      const now = BigInt(Date.now()) * 1000n;
      expect(await collectGarbage(store, { putBefore: now - 3_600_000_000n, named })).toEqual({
        deleted: 0,
        bytes: 0,
      });
      expect(await store.delete(lost, { putBefore: now - 3_600_000_000n })).toBe(false);
      expect(await collectGarbage(store, { putBefore: now + 10_000_000n, named })).toEqual({ deleted: 1, bytes: 16 });
      expect(await store.stat(lost)).toBeUndefined();
      expect(await text(store, kept)).toBe("named");
    });

    test.each([
      ["before its lock", true],
      ["at the same moment", false],
    ])("content that is put again while garbage is collected, %s, stays", async (when, waits) => {
      const content = bytes(`nearly garbage, ${when}`);
      const { key } = await store.put(content);
      age(key);
      let again: Promise<unknown> | undefined;
      const named = async (asked: readonly string[]) => {
        again = store.put(content);
        if (waits) await again;
        return new Set(asked.filter((other) => other !== key));
      };
      await collectGarbage(store, { putBefore: BigInt(Date.now()) * 1000n - 3_600_000_000n, named });
      expect(again).toBeDefined();
      await again;
      expect(await store.stat(key)).toMatchObject({ size: content.length });
    });

    test("keys that are not exactly a digest's are refused", async () => {
      const good = keyOf("x");
      const bad = ["", "..", "../api-key", `/${good}`, `${good}/..`, good.toUpperCase(), `sha256/00/00/${hex("x")}`];
      for (const key of [...bad, hex("x"), `${good}\0`, `${good}\n`, good.replace("sha256", "tmp")]) {
        await expect(store.get(key)).rejects.toMatchObject({ code: "invalid" });
        await expect(store.stat(key)).rejects.toMatchObject({ code: "invalid" });
        await expect(store.delete(key)).rejects.toMatchObject({ code: "invalid" });
      }
    });
  });
}

function bytes(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

async function* chunks(parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield bytes(part);
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield bytes("first");
  throw new Error("the upload broke off");
}

function hex(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

function keyOf(content: string): string {
  const digest = hex(content);
  return `sha256/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
}

async function text(store: BlobStore, key: string, options?: Parameters<BlobStore["get"]>[1]): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of (await store.get(key, options)).stream) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

async function keys(store: BlobStore): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.list()) found.push(key);
  return found;
}
