import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeCheckpoint } from "../../test/adapter-files.js";
import type { Adapters } from "./adapters.js";
import { vllmAdapters } from "./adapters.js";
import { vllm } from "./dialect.js";

let root: string;
let one: string;
let copy: string;
/** Names of the adapters that the server has. */
let served: Set<string>;
let adapters: Adapters;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "heddle-adapters-"));
  [one, copy] = [join(root, "one"), join(root, "copy")];
  await writeCheckpoint(one, 1);
  await cp(one, copy, { recursive: true });
  served = new Set();
  adapters = vllmAdapters({ serverPath: (directory) => directory, maxLoaded: 8, post, dialect: async () => vllm });
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Carries out unloading later than loading. */
async function post(path: string, body: unknown) {
  const { lora_name: name } = body as { lora_name: string };
  if (path === "v1/unload_lora_adapter") {
    await delay(30);
    return { status: served.delete(name) ? 200 : 404, body: {}, headers: {} };
  }
  const isLoaded = served.has(name);
  served.add(name);
  const message = "The lora adapter has already been loaded.";
  return isLoaded ? { status: 400, body: { error: { message } }, headers: {} } : { status: 200, body: {}, headers: {} };
}

test("a server that has to fetch adapters and does not is told from one without a common file system", async () => {
  const message = "Loading lora heddle-1 failed: No adapter found for owner/name";
  const refusing = async () => ({ status: 404, body: { error: { message } }, headers: {} });
  const settings = { maxLoaded: 8, post: refusing, dialect: async () => vllm };
  const fetching = { ...settings, serverPath: async () => "owner/name", hub: "http://heddle:4680/v1/adapters" };
  await expect(vllmAdapters(fetching).acquire(one)).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringMatching(
      /has to fetch: its HF_ENDPOINT must be http:\/\/heddle:4680\/v1\/adapters.*No adapter/u,
    ),
  });
  await expect(vllmAdapters({ ...settings, serverPath: (path) => path }).acquire(one)).rejects.toMatchObject({
    message: expect.stringContaining("must be on a file system of both machines"),
  });
});

test("an adapter that is wanted again while it is unloaded is there", async () => {
  const first = await adapters.acquire(one);
  first.release();
  const unloading = adapters.unload(one);
  const second = await adapters.acquire(one);
  await unloading;
  expect([...served]).toEqual([second.name]);
});

test("an adapter stays loaded while a copy of its checkpoint is used", async () => {
  (await adapters.acquire(one)).release();
  const lease = await adapters.acquire(copy);
  await adapters.unload(one);
  expect([...served]).toEqual([lease.name]);
  lease.release();
  await adapters.unload(copy);
  expect([...served]).toEqual([]);
});
