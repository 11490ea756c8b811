import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import { StatementError } from "../engine/statement-error.js";
import type { TraceStore } from "../store.js";
import type { ObjectCreate, ObjectRead } from "./requests.js";

const database = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await database.open();
});
afterAll(async () => await database.drop());

let projects = 0;
function project(): string {
  return `acme/objects-${projects++}`;
}

const opValue = '{"_type": "CustomWeaveType", "weave_type": {"type": "Op"}, "files": {"obj.py": "abc"}}';

function media(path: string): string {
  return `{"_type": "CustomWeaveType", "files": {${JSON.stringify(path)}: "digest"}}`;
}

async function create(projectId: string, objectId: string, val: string, more: Partial<ObjectCreate> = {}) {
  return await store.objects.create({ project_id: projectId, object_id: objectId, val, ...more });
}
async function read(projectId: string, objectId: string, digest: string, more: Partial<ObjectRead> = {}) {
  return await store.objects.read({ project_id: projectId, object_id: objectId, digest, ...more });
}

test("an object reads back byte for byte, by digest, version label and latest", async () => {
  const projectId = project();
  const val = '{ "b":1.0,"a":"caf\\u00e9\\t","n":18446744073709551616,"e":1e400,"s":"\\ud800", "d":1,"d":2 }';
  const created = await create(projectId, "thing", val, { wb_user_id: "user-1" });
  expect(created).toEqual({ digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/), object_id: "thing", version_index: 0 });
  for (const label of [created.digest, "latest", "v0"]) {
    expect(await read(projectId, "thing", label)).toEqual({
      project_id: projectId,
      object_id: "thing",
      digest: created.digest,
      kind: "object",
      version_index: 0,
      is_latest: 1,
      base_object_class: null,
      leaf_object_class: null,
      val,
      created_at: expect.any(BigInt),
      deleted_at: null,
      wb_user_id: "user-1",
      size_bytes: null,
      tags: null,
      aliases: null,
    });
  }
  expect((await read(projectId, "thing", "latest", { metadata_only: true })).val).toBe("{}");
});

test("any JSON value can be an object, also text with tabs, line breaks and quotes", async () => {
  const projectId = project();
  const text = JSON.stringify("tab\t, line\n, quote ' \" and \\ backslash, 🙂");
  for (const val of ["null", "1", "[1, 2]", text, '"\\u0000"']) {
    const { digest } = await create(projectId, "value", val);
    expect((await read(projectId, "value", digest)).val).toBe(val);
  }
});

test("the digest is the one a client computes", async () => {
  const projectId = project();
  const { digest } = await create(projectId, "o", '{"b":1,"a":"café","c":[1.0,true,null]}');
  expect(digest).toBe("R2M3PXSm1uYFfXqr6kJEloA3kyQLPXV2bVAPYGX91XI");
  const expected = { expected_digest: digest };
  await create(projectId, "o", '{"a":"caf\\u00e9","b":1,"c":[1.0,true,null]}', expected);
  await expect(create(projectId, "o", '{"b":1}', expected)).rejects.toMatchObject({ code: "conflict" });
  expect(await store.objects.query({ project_id: projectId })).toHaveLength(1);
});

test("new content is a new version, the same content is the version it was and becomes the latest", async () => {
  const projectId = project();
  const one = await create(projectId, "prompt", '{"v": 1}');
  const two = await create(projectId, "prompt", '{"v": 2}');
  expect([one.version_index, two.version_index]).toEqual([0, 1]);
  const createdAt = (await read(projectId, "prompt", "v0")).created_at;
  expect(await create(projectId, "prompt", '{"v": 1}')).toEqual(one);
  expect(await read(projectId, "prompt", "latest")).toMatchObject({ digest: one.digest, created_at: createdAt });
  expect(await read(projectId, "prompt", "v1")).toMatchObject({ is_latest: 0 });
  expect((await create(projectId, "prompt", '{"v": 3}')).version_index).toBe(2);
});

test("creating the latest version again writes nothing, also after a restart", async () => {
  const projectId = project();
  let inserts = 0;
  const counting = await database.open({
    wrapEngine: (engine) => ({ ...engine, insert: async (...row) => (inserts++, await engine.insert(...row)) }),
  });
  const request = { project_id: projectId, object_id: "op", val: opValue };
  const first = await store.objects.create(request);
  for (let i = 0; i < 3; i++) expect(await counting.objects.create(request)).toEqual(first);
  expect(inserts).toBe(0);
});

test("versions created at the same time get different indexes, equal ones the same", async () => {
  const projectId = project();
  const created = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => await create(projectId, `name-${i % 2}`, `{"n": ${i % 20}}`)),
  );
  const versions = new Map(created.map((one) => [`${one.object_id}:${one.digest}`, one.version_index]));
  expect(versions.size).toBe(20);
  for (const name of ["name-0", "name-1"]) {
    const indexes = [...versions].filter(([key]) => key.startsWith(name)).map(([, index]) => index);
    expect(indexes.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, i) => i));
  }
  expect(await store.objects.query({ project_id: projectId, filter: { latest_only: true } })).toHaveLength(2);
});

test("a name has one class: another is refused with both, until all its versions are deleted", async () => {
  const projectId = project();
  const model = '{"_class_name": "MyModel", "_bases": ["Model", "Object", "BaseModel"]}';
  await create(projectId, "mine", model);
  expect(await read(projectId, "mine", "latest")).toMatchObject({
    base_object_class: "Model",
    leaf_object_class: "MyModel",
  });
  await expect(create(projectId, "mine", '{"plain": true}')).rejects.toMatchObject({
    code: "invalid",
    details: {
      object_id: "mine",
      kind: "object",
      object_name: "mine",
      new_base_object_class: null,
      existing_base_object_classes: ["Model"],
    },
  });
  await create(projectId, "mine", opValue);
  await store.objects.delete({ project_id: projectId, object_id: "mine" });
  expect((await create(projectId, "mine", '{"plain": true}')).version_index).toBe(1);
});

test("built-in classes are marked as such, others refused", async () => {
  const projectId = project();
  await create(projectId, "board", '{"name": "b"}', { builtin_object_class: "Leaderboard" });
  const stored = await read(projectId, "board", "latest");
  expect(JSON.parse(stored.val)).toEqual({
    name: "b",
    _type: "Leaderboard",
    _class_name: "Leaderboard",
    _bases: ["BaseObject", "BaseModel"],
  });
  expect(stored).toMatchObject({ base_object_class: "Leaderboard", leaf_object_class: "Leaderboard" });
  const invalid = { code: "invalid", loc: ["val"] };
  await expect(create(projectId, "x", "{}", { builtin_object_class: "Nonsense" })).rejects.toMatchObject(invalid);
  await expect(create(projectId, "x", "[]", { builtin_object_class: "Leaderboard" })).rejects.toMatchObject(invalid);
});

test("files that would be unpacked outside their folder are refused, however deep", async () => {
  const projectId = project();
  for (const path of ["/etc/passwd", "../up", "a/../../b", "..\\up", "C:\\x", "\\x"]) {
    for (const val of [media(path), `{"rows": [1, {"image": ${media(path)}}]}`]) {
      await expect(create(projectId, "media", val)).rejects.toMatchObject({ code: "invalid", loc: ["val"] });
    }
  }
  const escaped = media("..").replace("files", "f\\u0069les");
  await expect(create(projectId, "media", escaped)).rejects.toMatchObject({ code: "invalid" });
  await create(projectId, "media", media("folder/image..png"));
});

test("names of objects are checked", async () => {
  for (const objectId of ["", "a b", "a/b", "a:b", "x".repeat(129), "é".repeat(129), "🙂"]) {
    await expect(create(project(), objectId, "{}")).rejects.toMatchObject({
      code: "invalid",
      loc: ["object_id"],
    });
  }
});

test("a deleted version is not found, with the time it was deleted, and the one before is the latest again", async () => {
  const projectId = project();
  const one = await create(projectId, "o", "1");
  const two = await create(projectId, "o", "2");
  const removed = await store.objects.delete({
    project_id: projectId,
    object_id: "o",
    digests: ["latest", two.digest, "v1"],
  });
  expect(removed).toEqual({
    num_deleted: 1,
    deleted_versions: [{ digest: two.digest, base_object_class: null, leaf_object_class: null }],
  });
  await expect(read(projectId, "o", two.digest)).rejects.toMatchObject({
    code: "not_found",
    details: { deleted_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) },
  });
  expect(await read(projectId, "o", "latest")).toMatchObject({ digest: one.digest, is_latest: 1 });
  expect(await store.objects.query({ project_id: projectId })).toMatchObject([{ digest: one.digest }]);
  await store.objects.delete({ project_id: projectId, object_id: "o" });
  for (const label of ["latest", "v0"]) {
    await expect(read(projectId, "o", label)).rejects.toMatchObject({ details: { deleted_at: expect.any(String) } });
  }
  await expect(store.objects.delete({ project_id: projectId, object_id: "o" })).rejects.toMatchObject({
    code: "not_found",
  });
  await expect(read(projectId, "never", "latest")).rejects.toMatchObject({ code: "not_found", details: undefined });
});

test("a delete that names one missing version deletes none", async () => {
  const projectId = project();
  const { digest } = await create(projectId, "o", "1");
  for (const missing of ["v7", "x".repeat(43), "no-such-alias"]) {
    const request = { project_id: projectId, object_id: "o", digests: [digest, missing] };
    await expect(store.objects.delete(request)).rejects.toMatchObject({ code: "not_found" });
  }
  await read(projectId, "o", digest);
  await expect(store.objects.delete({ project_id: projectId, object_id: "other" })).rejects.toMatchObject({
    code: "not_found",
  });
  const many = Array.from({ length: 101 }, () => digest);
  await expect(store.objects.delete({ project_id: projectId, object_id: "o", digests: many })).rejects.toMatchObject({
    code: "invalid",
  });
});

test("content created again after its delete is live with a fresh index, without its old tags and aliases", async () => {
  const projectId = project();
  const { digest } = await create(projectId, "o", "1");
  await create(projectId, "o", "2");
  await store.objects.addTags({ project_id: projectId, object_id: "o", digest, tags: ["good"] });
  await store.objects.setAliases({ project_id: projectId, object_id: "o", digest, aliases: ["prod"] });
  await store.objects.delete({ project_id: projectId, object_id: "o", digests: ["prod"] });
  expect(await store.objects.listTags(projectId)).toEqual([]);
  expect(await create(projectId, "o", "1")).toEqual({ digest, object_id: "o", version_index: 2 });
  expect(await read(projectId, "o", "latest", { include_tags_and_aliases: true })).toMatchObject({
    digest,
    tags: [],
    aliases: ["latest"],
  });
  await expect(read(projectId, "o", "prod")).rejects.toMatchObject({ code: "not_found" });
  await expect(read(projectId, "o", "v0")).rejects.toMatchObject({ code: "not_found" });
});

test("an op and another object may share a name; both are looked at", async () => {
  const projectId = project();
  const object = await create(projectId, "both", "{}");
  const op = await create(projectId, "both", opValue);
  expect([object.version_index, op.version_index]).toEqual([0, 0]);
  expect(await read(projectId, "both", "latest")).toMatchObject({ kind: "op" });
  expect(await read(projectId, "both", "v0")).toMatchObject({ kind: "op" });
  expect(await read(projectId, "both", object.digest)).toMatchObject({ kind: "object", is_latest: 1 });
  await create(projectId, "both", "{}");
  expect(await read(projectId, "both", "latest")).toMatchObject({ kind: "object" });
  expect(await store.objects.delete({ project_id: projectId, object_id: "both" })).toMatchObject({ num_deleted: 2 });
});

test("the same name and digest in another project are another object", async () => {
  const [mine, foreign] = [project(), project()];
  const { digest } = await create(mine, "o", '{"secret": true}');
  await store.objects.addTags({ project_id: mine, object_id: "o", digest, tags: ["mine"] });
  await store.objects.setAliases({ project_id: mine, object_id: "o", digest, aliases: ["mine"] });
  for (const label of [digest, "latest", "v0", "mine"]) {
    await expect(read(foreign, "o", label)).rejects.toMatchObject({ code: "not_found", details: undefined });
  }
  expect(await store.objects.query({ project_id: foreign })).toEqual([]);
  expect(await store.objects.listTags(foreign)).toEqual([]);
  expect(await store.objects.listAliases(foreign)).toEqual([]);
  await create(foreign, "o", '{"secret": true}');
  await store.objects.delete({ project_id: foreign, object_id: "o" });
  expect(await read(mine, "o", digest)).toMatchObject({ val: '{"secret": true}' });
});

test("when the engine fails, creates fail and work again afterwards", async () => {
  const projectId = project();
  let failing = true;
  const shaky = await database.open({
    wrapEngine: (engine) => ({
      ...engine,
      async insert(...row) {
        await engine.insert(...row);
        if (failing) throw new Error("the response was lost");
      },
    }),
  });
  const request = (val: string) => ({ project_id: projectId, object_id: "o", val });
  await expect(shaky.objects.create(request("1"))).rejects.toThrow("the response was lost");
  failing = false;
  expect(await shaky.objects.create(request("1"))).toMatchObject({ version_index: 0 });
  expect(await shaky.objects.create(request("2"))).toMatchObject({ version_index: 1 });
});

test("a value the engine cannot take fails alone, those created with it are stored", async () => {
  const projectId = project();
  const picky = await database.open({
    wrapEngine: (engine) => ({
      ...engine,
      async insert(...row) {
        if (row[2].some((bytes) => Buffer.from(bytes).includes("poison")))
          throw new StatementError("cannot parse", 27, "CANNOT_PARSE");
        await engine.insert(...row);
      },
    }),
  });
  const names = ["a", "poison", "c", "d"];
  const outcomes = await Promise.allSettled(
    names.map(async (name) => await picky.objects.create({ project_id: projectId, object_id: "o", val: `"${name}"` })),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  const stored = await store.objects.query({ project_id: projectId });
  expect(stored.map(({ val, version_index }) => [val, version_index])).toEqual([
    ['"a"', 0],
    ['"c"', 1],
    ['"d"', 2],
  ]);
});

test("among the versions of one kind and class, others of the name are neither read nor deleted", async () => {
  const projectId = project();
  const model = '{"_class_name":"Model","_bases":["Object","BaseModel"]}';
  const { digest } = await create(projectId, "twin", model);
  await create(projectId, "twin", opValue);
  const models = { kind: "object", base_classes: ["Scorer", "Model"] } as const;
  const twin = { project_id: projectId, object_id: "twin" };
  for (const label of ["latest", "v0", digest]) {
    expect(await store.objects.read({ ...twin, digest: label }, { among: models })).toMatchObject({
      digest,
      kind: "object",
    });
  }
  await store.objects.setAliases({ ...twin, digest, aliases: ["prod"] });
  const others = [{ kind: "op" }, { kind: "object", base_classes: ["Dataset"] }] as const;
  for (const among of others) {
    for (const label of ["prod", digest]) {
      await expect(store.objects.read({ ...twin, digest: label }, { among })).rejects.toMatchObject({
        code: "not_found",
      });
      await expect(store.objects.delete({ ...twin, digests: [label] }, among)).rejects.toMatchObject({
        code: "not_found",
      });
    }
  }
  expect(await store.objects.delete(twin, models)).toMatchObject({ num_deleted: 1 });
  expect(await read(projectId, "twin", "latest")).toMatchObject({ kind: "op" });
  await expect(store.objects.read({ ...twin, digest: "latest" }, { among: models })).rejects.toMatchObject({
    details: { deleted_at: expect.any(String) },
  });
});
