import { afterAll, expect, test } from "vitest";
import { recordedReads } from "../../test/recorded-reads.js";
import type { RecordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const database = testDatabase();
afterAll(async () => await database.drop());
const projectId = "acme/by-digest";
const opValue = (code: string) =>
  `{"_type": "CustomWeaveType", "weave_type": {"type": "Op"}, "files": {"obj.py": "${code}"}}`;

/** A store, and the statements that it sends. */
async function opened(): Promise<{ store: TraceStore; reads: RecordedReads }> {
  const reads = recordedReads();
  return { store: await database.open({ wrapEngine: reads.wrap }), reads };
}
const create = async (store: TraceStore, objectId: string, val: string) =>
  await store.objects.create({ project_id: projectId, object_id: objectId, val });
const read = async (store: TraceStore, objectId: string, digest: string) =>
  await store.objects.read({ project_id: projectId, object_id: objectId, digest });

test("a version whose name this process wrote or read is one statement, also as latest", async () => {
  const writer = await opened();
  const { digest } = await create(writer.store, "prompt", '"one"');
  const reader = await opened();
  expect((await read(reader.store, "prompt", "latest")).val).toBe('"one"');
  for (const { store, reads } of [writer, reader]) {
    reads.reset();
    expect(await read(store, "prompt", digest)).toMatchObject({ val: '"one"', is_latest: 1 });
    expect(await read(store, "prompt", "latest")).toMatchObject({ digest });
    expect(reads.sent).toHaveLength(2);
  }
});

test("what is the latest follows later versions, older ones published again, and deletes", async () => {
  const { store } = await opened();
  const one = await create(store, "config", '"one"');
  const two = await create(store, "config", '"two"');
  expect(await read(store, "config", one.digest)).toMatchObject({ is_latest: 0, version_index: 0 });
  expect(await read(store, "config", "latest")).toMatchObject({ val: '"two"', version_index: 1 });
  await create(store, "config", '"one"');
  expect(await read(store, "config", "latest")).toMatchObject({ val: '"one"', version_index: 0 });
  await store.objects.delete({ project_id: projectId, object_id: "config", digests: [one.digest] });
  expect(await read(store, "config", "latest")).toMatchObject({ digest: two.digest, is_latest: 1 });
  const deleted = { code: "not_found", details: { deleted_at: expect.any(String) } };
  await expect(read(store, "config", one.digest)).rejects.toMatchObject(deleted);
  await store.objects.delete({ project_id: projectId, object_id: "config" });
  await expect(read(store, "config", "latest")).rejects.toMatchObject(deleted);
  expect(await create(store, "config", '"one"')).toMatchObject({ version_index: 2 });
  expect(await read(store, "config", one.digest)).toMatchObject({ version_index: 2, is_latest: 1 });
});

test("the latest of an op and another object of one name is the one published later, or the one of the kind", async () => {
  const { store } = await opened();
  const op = await create(store, "both", opValue("a"));
  await create(store, "both", '"text"');
  expect(await read(store, "both", "latest")).toMatchObject({ kind: "object", is_latest: 1 });
  const request = { project_id: projectId, object_id: "both", digest: "latest" };
  expect(await store.objects.read(request, { among: { kind: "op" } })).toMatchObject({ digest: op.digest });
  await create(store, "both", opValue("b"));
  expect(await read(store, "both", "latest")).toMatchObject({ kind: "op", val: opValue("b") });
  const wrongKind = { ...request, digest: op.digest };
  await expect(store.objects.read(wrongKind, { among: { kind: "object" } })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a value of any size is read as it was sent, and reserved", async () => {
  const { store } = await opened();
  for (const bytes of [10, 65_534, 65_535, 65_536, 3_000_000]) {
    const val = JSON.stringify("é".padEnd(bytes - 1, "x"));
    const { digest } = await create(store, "sized", val);
    let reserved = 0;
    const reserve = async (size: number) => {
      reserved += size;
      return () => {};
    };
    const found = await store.objects.read({ project_id: projectId, object_id: "sized", digest }, { reserve });
    expect(found.val === val).toBe(true);
    expect(reserved).toBe(Buffer.byteLength(val));
  }
});

test("reads during writes of the same name never go back to an older version", async () => {
  const { store } = await opened();
  const versions = Array.from({ length: 12 }, (_, version) => version);
  const written = (async () => {
    for (const version of versions) await create(store, "racing", String(version));
  })();
  let seen = -1;
  const writes = { going: true };
  void written.then(() => (writes.going = false));
  while (writes.going) {
    if ((await store.objects.query({ project_id: projectId, filter: { object_ids: ["racing"] } })).length === 0)
      continue;
    const { version_index, is_latest } = await read(store, "racing", "latest");
    expect(version_index).toBeGreaterThanOrEqual(seen);
    expect(is_latest).toBe(1);
    seen = version_index;
  }
  await written;
  expect(await read(store, "racing", "latest")).toMatchObject({ val: "11" });
});
