import { mkdtemp, open, readFile, readdir, rm, writeFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { replaceDurableFile } from "./durable-file.js";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-durable-"));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true });
});

it("a replaced file is on disk with its entry in the directory", async () => {
  const path = join(directory, "state.json");
  await writeFile(path, "old");
  const synced: string[] = [];
  const handle = await open(directory, "r");
  vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "sync").mockImplementation(async function (this: FileHandle) {
    const what = (await this.stat()).isDirectory() ? "directory" : "file";
    synced.push(`${what} when the content was ${await readFile(path, "utf8")}`);
    await this.datasync();
  });
  await replaceDurableFile(path, "new");
  await handle.close();
  expect(synced).toEqual(["file when the content was old", "directory when the content was new"]);
  expect(await readdir(directory)).toEqual(["state.json"]);
});
