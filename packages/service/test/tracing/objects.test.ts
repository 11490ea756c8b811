import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected).toEqual([]));

test("versions, labels, aliases and tags of an object", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const create = (val: unknown) => tracing.objCreate({ obj: { project_id: projectId, object_id: "config", val } });
  const first = await create({ b: 1, a: "café", c: [1, true, null] });
  const second = await create({ b: 2 });
  expect(first.object_id).toBe("config");
  expect(await create({ b: 2 })).toEqual(second);

  await tracing.objSetAliases({
    object_id: "config",
    project_id: projectId,
    digest: first.digest,
    aliases: ["stable"],
  });
  await tracing.objAddTags({ object_id: "config", digest: "v0", project_id: projectId, tags: ["reviewed"] });
  const read = async (digest: string) =>
    (await tracing.objRead({ project_id: projectId, object_id: "config", digest, include_tags_and_aliases: true })).obj;
  expect(await read("stable")).toMatchObject({
    digest: first.digest,
    version_index: 0,
    is_latest: 0,
    kind: "object",
    tags: ["reviewed"],
    aliases: ["stable"],
  });
  expect(await read("latest")).toMatchObject({
    digest: second.digest,
    version_index: 1,
    is_latest: 1,
    aliases: ["latest"],
  });
  expect(await tracing.aliasesList({ project_id: projectId })).toEqual({ aliases: ["stable"] });
  expect(await tracing.tagsList({ project_id: projectId })).toEqual({ tags: ["reviewed"] });
  expect(
    (await tracing.objsQuery({ project_id: projectId, filter: { latest_only: true } })).objs.map((obj) => obj.digest),
  ).toEqual([second.digest]);

  expect(await tracing.objDelete({ project_id: projectId, object_id: "config", digests: ["latest"] })).toMatchObject({
    num_deleted: 1,
  });
  await expect(read(second.digest)).rejects.toMatchObject({ status: 404, body: { deleted_at: expect.any(String) } });
  expect(await read("latest")).toMatchObject({ digest: first.digest, is_latest: 1 });
});

test("the digest is the one that SDKs compute, over the text as sent", async () => {
  const projectId = newProject();
  const send = (body: string) =>
    service.fetch("http://in-process/obj/create", {
      method: "POST",
      body,
      headers: { "wandb-api-key": service.owner_key },
    });
  const answer = await send(
    `{"obj":{"project_id":"${projectId}","object_id":"o","val":{"b":1,"a":"café","c":[1.0,true,null]}}}`,
  );
  expect(await answer.json()).toMatchObject({ digest: "R2M3PXSm1uYFfXqr6kJEloA3kyQLPXV2bVAPYGX91XI" });
  const conflict = await send(
    `{"obj":{"project_id":"${projectId}","object_id":"o","val":{},"expected_digest":"nope"}}`,
  );
  expect(conflict.status).toBe(409);
});

test("a dataset row resolves through its table, and what cannot be resolved is distinguished", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const { digest: table, row_digests } = await tracing.tableCreate({
    table: { project_id: projectId, rows: [{ q: 1 }, { q: 2 }, { q: 1 }] },
  });
  expect(row_digests[0]).toBe(row_digests[2]);
  const { digest } = await tracing.objCreate({
    obj: {
      project_id: projectId,
      object_id: "data",
      val: { _type: "Dataset", rows: `weave:///${projectId}/table/${table}` },
    },
  });
  const ref = `weave:///${projectId}/object/data:${digest}`;
  const { vals } = await tracing.refsReadBatch({
    refs: [`${ref}/attr/rows/id/${row_digests[1]}`, `${ref}/attr/nothing`],
  });
  expect(vals).toEqual([{ q: 2 }, null]);
  await expect(
    tracing.refsReadBatch({ refs: [`weave:///${projectId}/object/gone:${"a".repeat(43)}`] }),
  ).rejects.toMatchObject({
    status: 404,
    body: { missing_object_digests: ["a".repeat(43)] },
  });
  await expect(tracing.refsReadBatch({ refs: [`weave:///${projectId}/call/x`] })).rejects.toMatchObject({
    status: 400,
  });
});

test("refs into a project that the key may not read look like missing ones", async () => {
  const theirs = newProject("other");
  const { digest } = await service
    .tracing()
    .objCreate({ obj: { project_id: theirs, object_id: "secret", val: { key: "value" } } });
  const mine = service.tracing(await service.key({ entity: "acme" }));
  const failure = await mine
    .refsReadBatch({ refs: [`weave:///${theirs}/object/secret:${digest}`] })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ status: 404 });
  expect(JSON.stringify(failure)).not.toContain("value");
});

test("tables keep order and duplicates, and are edited by position", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  expect(await tracing.tableCreateFromDigests({ project_id: projectId, row_digests: [] })).toMatchObject({
    digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  });
  const { digest } = await tracing.tableCreate({
    table: { project_id: projectId, rows: [{ n: 3 }, { n: 1 }, { n: 3 }] },
  });
  const updated = await tracing.tableUpdate({
    project_id: projectId,
    base_digest: digest,
    updates: [{ append: { row: { n: 9 } } }, { insert: { index: 0, row: { n: 0 } } }, { pop: { index: 1 } }],
  });
  expect(updated.updated_row_digests).toHaveLength(3);
  const { rows } = await tracing.tableQuery({ project_id: projectId, digest: updated.digest });
  expect(rows.map((row) => row.val)).toEqual([{ n: 0 }, { n: 1 }, { n: 3 }, { n: 9 }]);
  const sorted = [];
  for await (const row of tracing.tableQueryStream({
    project_id: projectId,
    digest,
    sort_by: [{ field: "n", direction: "asc" }],
    limit: 2,
  }))
    sorted.push(row);
  expect(sorted.map((row) => [row.val, row.original_index])).toEqual([
    [{ n: 1 }, 1],
    [{ n: 3 }, 0],
  ]);
  expect(await tracing.tableQueryStats({ project_id: projectId, digest })).toEqual({ count: 3 });
  expect(
    (await tracing.tableQueryStatsBatch({ project_id: projectId, digests: [digest, "nope"] })).tables,
  ).toMatchObject([{ digest, count: 3 }]);
});

test("files come back byte for byte and are stored once", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 256);
  const { digest } = await tracing.fileCreate({ project_id: projectId, file: bytes });
  expect(await tracing.fileCreate({ project_id: projectId, file: bytes })).toEqual({ digest });
  expect(await tracing.fileCreate({ project_id: projectId, file: new TextEncoder().encode("hello") })).toEqual({
    digest: "LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",
  });
  expect(Buffer.from(await tracing.fileContent({ project_id: projectId, digest })).equals(Buffer.from(bytes))).toBe(
    true,
  );
  expect(await tracing.filesStats({ project_id: projectId })).toEqual({ total_size_bytes: 100_005 });
  await expect(tracing.fileContent({ project_id: newProject(), digest })).rejects.toMatchObject({ status: 404 });
  await expect(
    tracing.fileCreate({ project_id: projectId, file: bytes, expected_digest: "nope" }),
  ).rejects.toMatchObject({
    status: 409,
  });
});

test("internal project ids come from projects_info and are understood in refs", async () => {
  const projectId = newProject();
  const tracing = service.tracing();
  await tracing.objCreate({ obj: { project_id: projectId, object_id: "o", val: 1 } });
  const [info] = await tracing.projectsInfo({ project_ids: [projectId, "acme/never-made", "nonsense"] });
  expect(info).toMatchObject({ external_project_id: projectId });
  const val = { ref: `weave-trace-internal:///${info?.internal_project_id}/object/o:v0` };
  const { digest } = await tracing.objCreate({ obj: { project_id: projectId, object_id: "p", val } });
  const { obj } = await tracing.objRead({ project_id: projectId, object_id: "p", digest });
  expect(obj.val).toEqual({ ref: `weave:///${projectId}/object/o:v0` });
});
