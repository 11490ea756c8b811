import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../test/store.js";
import type { Objects } from "./objects.js";
import type { ObjectFilter, ObjectQuery } from "./requests.js";

const database = testDatabase();
const projectId = "acme/query";
let objects: Objects;
beforeAll(async () => {
  ({ objects } = await database.open());
  await objects.create({ project_id: projectId, object_id: "model", val: instance("Small", "Model", 1) });
  await objects.create({ project_id: projectId, object_id: "model", val: instance("Big", "Model", 2) });
  await objects.create({ project_id: projectId, object_id: "scorer", val: instance("Exact", "Scorer", 1) });
  await objects.create({ project_id: projectId, object_id: "plain", val: '{"text": "café"}' });
  await objects.create({
    project_id: projectId,
    object_id: "answer",
    val: '{"_type": "CustomWeaveType", "weave_type": {"type": "Op"}}',
  });
  await objects.addTags({ project_id: projectId, object_id: "model", digest: "v0", tags: ["good"] });
  await objects.addTags({ project_id: projectId, object_id: "scorer", digest: "v0", tags: ["good", "new"] });
  await objects.setAliases({ project_id: projectId, object_id: "model", digest: "v0", aliases: ["prod"] });
  await objects.create({ project_id: "acme/other", object_id: "foreign", val: "{}" });
});
afterAll(async () => await database.drop());

async function names(request: Omit<ObjectQuery, "project_id">): Promise<string[]> {
  const found = await objects.query({ project_id: projectId, ...request });
  return found.map(({ object_id, version_index }) => `${object_id}:v${version_index}`);
}

test("lists every live version of the project in order of creation", async () => {
  expect(await names({})).toEqual(["model:v0", "model:v1", "scorer:v0", "plain:v0", "answer:v0"]);
});

test("filters combine, each list meaning any of its entries", async () => {
  const cases: Array<[ObjectFilter, string[]]> = [
    [{ latest_only: true }, ["model:v1", "scorer:v0", "plain:v0", "answer:v0"]],
    [{ base_object_classes: ["Model", "Scorer"] }, ["model:v0", "model:v1", "scorer:v0"]],
    [{ exclude_base_object_classes: ["Model"] }, ["scorer:v0", "plain:v0", "answer:v0"]],
    [{ leaf_object_classes: ["Big", "Exact"] }, ["model:v1", "scorer:v0"]],
    [{ leaf_object_classes: ["Small"], latest_only: true }, []],
    [{ object_ids: ["plain", "scorer", "foreign"] }, ["scorer:v0", "plain:v0"]],
    [{ is_op: true }, ["answer:v0"]],
    [{ is_op: false, object_ids: ["answer", "plain"] }, ["plain:v0"]],
    [{ tags: ["good"] }, ["model:v0", "scorer:v0"]],
    [{ tags: ["new", "unknown"] }, ["scorer:v0"]],
    [{ aliases: ["prod"] }, ["model:v0"]],
    [{ aliases: ["latest"], object_ids: ["model"] }, ["model:v1"]],
    [{ aliases: ["latest", "prod"], object_ids: ["model"] }, ["model:v0", "model:v1"]],
  ];
  for (const [filter, expected] of cases) expect(await names({ filter }), JSON.stringify(filter)).toEqual(expected);
});

test.each([
  "tags",
  "aliases",
  "object_ids",
  "base_object_classes",
  "leaf_object_classes",
  "exclude_base_object_classes",
])("an empty list of %s is not a condition", async (name) =>
  expect(await names({ filter: { [name]: [], is_op: true } })).toEqual(["answer:v0"]),
);

test("sorts by name and time, pages, and passes over other sort fields", async () => {
  expect(await names({ sort_by: [{ field: "object_id", direction: "asc" }] })).toEqual([
    "answer:v0",
    "model:v0",
    "model:v1",
    "plain:v0",
    "scorer:v0",
  ]);
  const newest: ObjectQuery["sort_by"] = [
    { field: "val.n", direction: "asc" },
    { field: "created_at", direction: "desc" },
  ];
  expect(await names({ sort_by: newest, limit: 2 })).toEqual(["answer:v0", "plain:v0"]);
  for (const field of ["constructor", "__proto__", "toString", "val; DROP TABLE calls"]) {
    expect(await names({ sort_by: [{ field, direction: "desc" }, ...newest], limit: 2 })).toEqual([
      "answer:v0",
      "plain:v0",
    ]);
  }
  const often = Array.from({ length: 100_000 }, () => newest ?? []).flat();
  expect(await names({ sort_by: often, limit: 2 })).toEqual(["answer:v0", "plain:v0"]);
  expect(await names({ sort_by: newest, limit: 2, offset: 1 })).toEqual(["plain:v0", "scorer:v0"]);
  expect(await names({ offset: 4 })).toEqual(["answer:v0"]);
  expect(await names({ limit: 0 })).toEqual([]);
});

test("leaves values out or adds sizes and labels when asked", async () => {
  const filter = { object_ids: ["plain"] };
  const [plain] = await objects.query({ project_id: projectId, filter });
  expect(plain).toMatchObject({ val: '{"text": "café"}', size_bytes: null, tags: null, aliases: null });
  const [bare] = await objects.query({
    project_id: projectId,
    filter,
    metadata_only: true,
    include_storage_size: true,
  });
  expect(bare).toMatchObject({ val: "{}", size_bytes: 17 });
  const labelled = await objects.query({
    project_id: projectId,
    filter: { object_ids: ["model", "scorer"] },
    include_tags_and_aliases: true,
    metadata_only: true,
  });
  expect(labelled.map(({ tags, aliases }) => [tags, aliases])).toEqual([
    [["good"], ["prod"]],
    [[], ["latest"]],
    [["good", "new"], ["latest"]],
  ]);
});

test("a project of thousands of versions is listed completely, with the right values", async () => {
  const projectId = "acme/many";
  await Promise.all(
    Array.from(
      { length: 1200 },
      async (_, i) => await objects.create({ project_id: projectId, object_id: `o${i % 400}`, val: `${i}` }),
    ),
  );
  const found = await objects.query({ project_id: projectId });
  expect(found).toHaveLength(1200);
  expect(new Set(found.map(({ val }) => val)).size).toBe(1200);
  for (const { object_id, val } of found) expect(object_id).toBe(`o${Number(val) % 400}`);
  const latest = await objects.query({ project_id: projectId, filter: { latest_only: true }, metadata_only: true });
  expect(latest.map(({ version_index }) => version_index)).toEqual(Array.from({ length: 400 }, () => 2));
});

function instance(leaf: string, base: string, n: number): string {
  return `{"n": ${n}, "_class_name": "${leaf}", "_bases": ["${base}", "Object", "BaseModel"]}`;
}
