import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { blobKeyOf, openBlobStore } from "@heddle/blob-store";
import { openControlPlane } from "@heddle/control-plane";
import { expect, onTestFinished, test } from "vitest";
import { commitDirectory } from "./commit-directory.js";
import { storeContent } from "./store-content.js";
import { filesOf, writeDirectory } from "./write-directory.js";

const version = { project_id: "acme/demo", name: "tutor", type: "lora", created_by: "ann" };

async function open() {
  const root = await mkdtemp(join(tmpdir(), "heddle-artifacts-"));
  const control = await openControlPlane({ url: pathToFileURL(join(root, "control.db")).href });
  const blobs = await openBlobStore({ url: join(root, "blobs") });
  onTestFinished(async () => {
    await control.close();
    await rm(root, { recursive: true });
  });
  const source = join(root, "source");
  await mkdir(join(source, "deep", "er"), { recursive: true });
  await writeFile(join(source, "adapter.json"), "{}");
  await writeFile(join(source, "deep", "er", "weights.bin"), Buffer.alloc(1_000_000, 7));
  await writeFile(join(source, "empty"), "");
  return { services: { control, blobs }, root, source };
}

test("a directory becomes a version, and the version a directory with the same files", async () => {
  const { services, root, source } = await open();
  const { version: stored, created } = await commitDirectory(services, source, { ...version, aliases: ["step1"] });
  expect(created).toBe(true);
  expect(stored).toMatchObject({ index: 0, file_count: 3, size_bytes: 1_000_002, aliases: ["latest", "step1"] });
  const target = join(root, "copies", stored.digest);
  // Of several at once one makes the directory, and all of them succeed.
  await Promise.all([1, 2, 3].map(async () => await writeDirectory(services, stored, target)));
  for (const path of ["adapter.json", "deep/er/weights.bin", "empty"])
    expect((await readFile(join(target, path))).equals(await readFile(join(source, path)))).toBe(true);
  expect(await readdir(join(root, "copies"))).toEqual([stored.digest]);
  expect(await commitDirectory(services, target, { ...version, deduplicate: true })).toEqual({
    created: false,
    version: stored,
  });
});

test("a version whose bytes are corrupt or lost makes no directory", async () => {
  const { services, root, source } = await open();
  const { version: stored } = await commitDirectory(services, source, version);
  const target = join(root, "copy");
  const weights = (await all(filesOf(services, stored))).find(({ size_bytes }) => size_bytes === 1_000_000);
  const key = blobKeyOf(weights?.sha256 ?? "");
  await writeFile(join(root, "blobs", key), Buffer.alloc(1_000_000, 8));
  await expect(writeDirectory(services, stored, target)).rejects.toMatchObject({ code: "corrupt" });
  await services.blobs.delete(key);
  await expect(writeDirectory(services, stored, target)).rejects.toMatchObject({ code: "corrupt" });
  expect((await readdir(root)).filter((name) => name.startsWith("copy"))).toEqual([]);
});

test("a directory with a link makes no version", async () => {
  const { services, source } = await open();
  await symlink("/etc/passwd", join(source, "link"));
  await expect(commitDirectory(services, source, version)).rejects.toMatchObject({ code: "invalid" });
  expect(await services.control.artifacts.get("acme/demo", "tutor")).toBeUndefined();
});

test("content that is not the expected one is not kept", async () => {
  const { services } = await open();
  const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const md5 = "5d41402abc4b2a76b9719d911017c592";
  async function* source(text: string) {
    yield Buffer.from(text);
  }
  for (const expected of [{ sha256 }, { md5 }, { size_bytes: 5 }]) {
    const stored = storeContent(services, "acme/demo", source("hello!"), expected);
    await expect(stored).rejects.toMatchObject({ code: "conflict" });
  }
  expect(await all(services.blobs.list())).toEqual([]);
  const content = await storeContent(services, "acme/demo", source("hello"), { sha256, md5, size_bytes: 5 });
  expect(content).toEqual({ sha256, md5, size_bytes: 5 });
});

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of source) found.push(item);
  return found;
}
