import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const database = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await database.open();
});
afterAll(async () => await database.drop());

const file = {
  digest: "LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",
  name: "tab\tand é.txt",
  size_bytes: 5,
  mime: "text/plain",
  blob_key: "sha256/2c/f2/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
};

test("a file is found in the project it was added to, and nowhere else", async () => {
  await store.files.add({ project_id: "acme/files", ...file });
  expect(await store.files.get({ project_id: "acme/files", digest: file.digest })).toEqual(file);
  expect(await store.files.get({ project_id: "acme/other", digest: file.digest })).toBeUndefined();
  expect(await store.files.get({ project_id: "acme/files", digest: "unknown" })).toBeUndefined();
});

test("files are found together, those that the project has", async () => {
  const projectId = "acme/together";
  const other = { ...file, digest: "x".repeat(43), name: "b" };
  for (const one of [file, other]) await store.files.add({ project_id: projectId, ...one });
  await store.files.add({ project_id: "acme/elsewhere", ...file, digest: "y".repeat(43) });
  const digests = [other.digest, "y".repeat(43), file.digest, "unknown"];
  const found = await store.files.find({ project_id: projectId, digests });
  expect(found).toEqual(new Map([file, other].map((one) => [one.digest, one])));
  expect(await store.files.find({ project_id: projectId, digests: [] })).toEqual(new Map());
});

test("a blob is in use while any project has it as a file", async () => {
  const used = "sha256/aa/bb/" + "a".repeat(64);
  await store.files.add({ project_id: "acme/blobs", ...file, blob_key: used });
  expect(await store.files.blobsInUse([used, "sha256/cc/dd/" + "c".repeat(64)])).toEqual(new Set([used]));
  expect(await store.files.blobsInUse([])).toEqual(new Set());
});

test("files count once each towards the size of their project", async () => {
  const projectId = "acme/sizes";
  expect(await store.files.totalSize(projectId)).toBe(0);
  await store.files.add({ project_id: projectId, ...file });
  await store.files.add({ project_id: projectId, ...file, digest: "x".repeat(43), size_bytes: 2 ** 40 });
  await Promise.all(Array.from({ length: 5 }, async () => await store.files.add({ project_id: projectId, ...file })));
  expect(await store.files.totalSize(projectId)).toBe(2 ** 40 + 5);
});

test("adding a file again writes nothing, also after a restart, and keeps the first name", async () => {
  const projectId = "acme/again";
  await store.files.add({ project_id: projectId, ...file });
  let inserts = 0;
  const counting = await database.open({
    wrapEngine: (engine) => ({ ...engine, insert: async (...row) => (inserts++, await engine.insert(...row)) }),
  });
  for (const name of ["other", "names"]) await counting.files.add({ project_id: projectId, ...file, name });
  expect(inserts).toBe(0);
  expect((await counting.files.get({ project_id: projectId, digest: file.digest }))?.name).toBe(file.name);
});
