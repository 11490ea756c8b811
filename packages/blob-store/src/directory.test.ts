import { existsSync, utimesSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { blobStoreCases } from "../test/cases.js";
import { openBlobStore } from "./open.js";

const directories: string[] = [];
afterAll(async () => {
  await Promise.all(directories.map(async (path) => await rm(path, { recursive: true })));
});

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "heddle-blobs-"));
  directories.push(path);
  return path;
}

let shared = "";
blobStoreCases(
  "a directory",
  async () => await openBlobStore({ url: (shared = await directory()) }),
  (key) => utimesSync(join(shared, key), 1000, 1000),
);

describe("a directory of blobs", () => {
  test("is still there after it was closed and opened again, by path or file: URL", async () => {
    const url = join(await directory(), "made", "when missing");
    const first = await openBlobStore({ url });
    const { key } = await first.put(Buffer.from("kept"));
    await first.close();
    const second = await openBlobStore({ url: pathToFileURL(url).href });
    expect(await second.stat(key)).toMatchObject({ size: 4 });
  });

  test("whose disk is full asks for another try and keeps no draft", async () => {
    const root = await directory();
    const store = await openBlobStore({ url: root });
    async function* source() {
      yield Buffer.from("half a blob");
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    }
    await expect(store.put(source())).rejects.toMatchObject({
      code: "busy",
      message: "the disk of the blob store is full",
    });
    expect(await readdir(join(root, "tmp"))).toEqual([]);
  });

  test("content that another process puts while it is deleted as old is there when both are done", async () => {
    const root = await directory();
    const [one, other] = [await openBlobStore({ url: root }), await openBlobStore({ url: root })];
    const putBefore = BigInt(Date.now()) * 1000n - 3_600_000_000n;
    for (let round = 0; round < 300; round++) {
      const content = Buffer.from(`nearly garbage ${round}`);
      const { key } = await one.put(content);
      utimesSync(join(root, key), 1000, 1000);
      await Promise.all([one.delete(key, { putBefore }), other.put(content)]);
      expect(await one.stat(key), `round ${round}`).toMatchObject({ size: content.length });
    }
    expect(await readdir(join(root, "tmp"))).toEqual([]);
  });

  test("a write goes on when another process opens the directory, and asks for another try when its draft is removed", async () => {
    const root = await directory();
    const store = await openBlobStore({ url: root });
    async function* source(meanwhile: () => Promise<unknown>) {
      yield Buffer.from("half a blob");
      await meanwhile();
    }
    expect((await store.put(source(() => openBlobStore({ url: root })))).size).toBe(11);
    const remove = async () => {
      for (const name of await readdir(join(root, "tmp"))) await rm(join(root, "tmp", name));
    };
    await expect(store.put(source(remove))).rejects.toMatchObject({
      code: "busy",
      message: "the draft of the blob was removed while it was written",
    });
  });

  test("lays blobs out by digest and leaves no drafts", async () => {
    const root = await directory();
    const store = await openBlobStore({ url: root });
    const { key } = await store.put(Buffer.from("hello"));
    expect(existsSync(join(root, key))).toBe(true);
    expect(await readdir(join(root, "tmp"))).toEqual([]);
  });

  test("cleans up the draft of a crashed write once it is old, and leaves those of other processes", async () => {
    const root = await directory();
    await mkdir(join(root, "tmp"));
    const [old, fresh] = ["half a blob", "in progress"];
    for (const name of [old, fresh]) await writeFile(join(root, "tmp", name), "half");
    const yesterday = new Date(Date.now() - 25 * 3_600_000);
    await utimes(join(root, "tmp", old), yesterday, yesterday);
    const store = await openBlobStore({ url: root });
    expect(await readdir(join(root, "tmp"))).toEqual([fresh]);
    await store.discardDrafts(BigInt(Date.now() + 1000) * 1000n);
    expect(await readdir(join(root, "tmp"))).toEqual([]);
  });

  test("notices bytes that changed on disk when asked to verify", async () => {
    const root = await directory();
    const store = await openBlobStore({ url: root });
    const { key } = await store.put(Buffer.from("hello"));
    await writeFile(join(root, key), "jello");
    const reader = await store.get(key, { verify: true });
    const drain = async () => {
      for await (const _ of reader.stream);
    };
    await expect(drain()).rejects.toMatchObject({ code: "corrupt" });
  });

  test("a truncated blob is repaired by the next put", async () => {
    const root = await directory();
    const store = await openBlobStore({ url: root });
    const { key } = await store.put(Buffer.from("hello"));
    await writeFile(join(root, key), "he");
    expect(await store.put(Buffer.from("hello"))).toMatchObject({ key, size: 5 });
    expect((await stat(join(root, key))).size).toBe(5);
  });

  test("putting content again renews its time", async () => {
    const root = await directory();
    const store = await openBlobStore({ url: root });
    const { key } = await store.put(Buffer.from("hello"));
    await utimes(join(root, key), 1000, 1000);
    await store.put(Buffer.from("hello"));
    expect((await stat(join(root, key))).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
  });

  test("skips files that are not blobs", async () => {
    const root = await directory();
    const store = await openBlobStore({ url: root });
    const { key } = await store.put(Buffer.from("hello"));
    await writeFile(join(root, "sha256", "README"), "not a folder");
    await writeFile(join(root, "sha256", key.slice(7, 9), ".DS_Store"), "");
    const listed: string[] = [];
    for await (const entry of store.list()) listed.push(entry.key);
    expect(listed).toEqual([key]);
  });

  test("a URL without a backend is refused by name", async () => {
    await expect(openBlobStore({ url: "ftp://host/blobs" })).rejects.toThrow("no backend for ftp: URLs");
  });
});
