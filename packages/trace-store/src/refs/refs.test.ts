import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryMeter } from "../../test/memory-meter.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const database = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await database.open();
});
afterAll(async () => await database.drop());

const projectId = "acme/refs";
const base = `weave:///${projectId}`;
const everything = { mayRead: () => true };

async function object(objectId: string, val: string, project = projectId): Promise<string> {
  const { digest } = await store.objects.create({ project_id: project, object_id: objectId, val });
  return `weave:///${project}/object/${objectId}:${digest}`;
}
function labelled(label: string): string {
  return `${base}/object/labelled:${label}`;
}
function isOwn(project: string): boolean {
  return project === projectId;
}
async function read(...refs: string[]) {
  return await store.refs.readBatch(refs, everything);
}

test("refs give exact values in the order asked, repeated ones included", async () => {
  const one = await object("one", '{ "b":1.0, "a":[1, {"k":"v"}] }');
  const two = await object("two", '"text"');
  expect(await read(two, one, two)).toEqual(['"text"', '{ "b":1.0, "a":[1, {"k":"v"}] }', '"text"']);
  expect(await read()).toEqual([]);
});

test("attributes, keys and indexes are followed; a path that ends gives null", async () => {
  const ref = await object("nested", '{"a":{"b c/d":[10,{"x":1.50}]},"none":null}');
  expect(
    await read(
      `${ref}/attr/a/key/b%20c%2Fd/index/1/key/x`,
      `${ref}/attr/a/key/b%20c%2Fd/index/0`,
      `${ref}/attr/none`,
      `${ref}/attr/missing`,
      `${ref}/attr/a/key/b%20c%2Fd/index/7`,
      `${ref}/attr/a/key/b%20c%2Fd/index/0/key/deeper`,
      `${ref}/attr/a/id/${"x".repeat(43)}`,
    ),
  ).toEqual(["1.50", "10", "null", null, null, null, null]);
});

test("rows of a dataset are reached through its table", async () => {
  const rows = ['{"q":"2+2?","a":4.0}', '{"q":"café"}'];
  const table = await store.tables.create({ project_id: projectId, rows });
  const dataset = await object("dataset", `{"_type":"Dataset","rows":"${base}/table/${table.digest}"}`);
  const [first, second] = table.row_digests;
  expect(
    await read(
      `${dataset}/attr/rows/id/${second}`,
      `${dataset}/attr/rows/id/${first}/key/a`,
      `${dataset}/attr/rows`,
      `${dataset}/attr/rows/index/0`,
    ),
  ).toEqual([rows[1], "4.0", `"${base}/table/${table.digest}"`, null]);
  const foreignRow = await store.tables.create({ project_id: projectId, rows: ['{"other":"table"}'] });
  for (const row of ["x".repeat(43), foreignRow.row_digests[0] ?? ""]) {
    await expect(read(dataset, `${dataset}/attr/rows/id/${row}`)).rejects.toMatchObject({
      code: "not_found",
      details: { missing_object_digests: [row] },
    });
  }
});

test("a ref on the path is followed, and circles end", async () => {
  const inner = await object("inner", '{"x":{"y":"deep"}}');
  const outer = await object("outer", `{"model":"${inner}","part":"${inner}/attr/x"}`);
  expect(await read(`${outer}/attr/model/attr/x/key/y`, `${outer}/attr/part/key/y`)).toEqual(['"deep"', '"deep"']);
  await object("circle", `{"self":"${base}/object/circle:latest/attr/self"}`);
  expect(await read(`${base}/object/circle:latest/attr/self/attr/self`)).toEqual([null]);
});

test("labels are accepted as well as digests", async () => {
  const first = await object("labelled", "1");
  await object("labelled", "2");
  const digest = first.slice(first.lastIndexOf(":") + 1);
  await store.objects.setAliases({ project_id: projectId, object_id: "labelled", digest, aliases: ["prod"] });
  expect(await read(labelled("latest"), labelled("v0"), labelled("prod"), labelled("v1"))).toEqual([
    "2",
    "1",
    "1",
    "2",
  ]);
  for (const label of ["v2", "staging"]) {
    await expect(read(labelled(label))).rejects.toMatchObject({ details: { missing_object_digests: [label] } });
  }
});

test("ops are read by op refs", async () => {
  const val = '{"_type": "CustomWeaveType", "weave_type": {"type": "Op"}}';
  const { digest } = await store.objects.create({ project_id: projectId, object_id: "answer", val });
  expect(await read(`${base}/op/answer:${digest}`, `${base}/op/answer:latest/attr/weave_type`)).toEqual([
    val,
    '{"type": "Op"}',
  ]);
});

test("a deleted object is null, one that never was fails the batch and is named", async () => {
  const kept = await object("kept", "1");
  const gone = await object("gone", "2");
  await store.objects.delete({ project_id: projectId, object_id: "gone" });
  expect(await read(gone, kept, `${base}/object/gone:latest`)).toEqual([null, "1", null]);
  const never = "n".repeat(43);
  await expect(read(kept, `${base}/object/kept:${never}`, `${base}/object/none:v3`, gone)).rejects.toMatchObject({
    code: "not_found",
    details: { missing_object_digests: [never, "v3"] },
  });
});

test("what the caller may not read is as if it were not there, also on the path", async () => {
  const secret = await object("secret", '{"key":"value"}', "rival/vault");
  const table = await store.tables.create({ project_id: "rival/vault", rows: ['{"secret":1}'] });
  const through = await object("through", `{"a":"${secret}","t":"weave:///rival/vault/table/${table.digest}"}`);
  const refs = [secret, `${through}/attr/a/attr/key`, `${through}/attr/t/id/${table.row_digests[0]}`];
  for (const ref of refs) {
    expect(await read(ref)).not.toEqual([null]);
    await expect(store.refs.readBatch([ref], { mayRead: isOwn })).rejects.toMatchObject({ code: "not_found" });
  }
});

test("refs into many projects are read by as many statements as refs into one", async () => {
  let statements = 0;
  const counted = await database.open({
    wrapEngine: (engine) => ({
      ...engine,
      rows: (...request) => (statements++, engine.rows(...request)),
      stream: (...request) => (statements++, engine.stream(...request)),
    }),
  });
  const projects = ["many/a", "many/b", "many/c"];
  const values = await Promise.all(projects.map((project) => object("shared", `{"of":"${project}"}`, project)));
  const tables = await Promise.all(
    projects.map((project) => store.tables.create({ project_id: project, rows: [`{"row":"${project}"}`] })),
  );
  const datasets = await Promise.all(
    tables.map(({ digest }, at) => object("rows", `{"rows":"weave:///${projects[at]}/table/${digest}"}`, projects[at])),
  );
  const refs = [
    ...values,
    ...projects.map((project) => `weave:///${project}/object/shared:latest/attr/of`),
    ...datasets.map((dataset, at) => `${dataset}/attr/rows/id/${tables[at]?.row_digests[0]}/key/row`),
  ];
  const statementsFor = async (some: readonly string[]) => {
    const before = statements;
    const read = await counted.refs.readBatch(some, everything);
    return { read, statements: statements - before };
  };
  const all = await statementsFor(refs);
  expect(all.read).toEqual([
    ...projects.map((project) => `{"of":"${project}"}`),
    ...projects.map((project) => `"${project}"`),
    ...projects.map((project) => `"${project}"`),
  ]);
  const ofOne = refs.filter((ref) => ref.startsWith("weave:///many/a/"));
  expect(all.statements).toBe((await statementsFor(ofOne)).statements);
});

test("other refs, broken ones and too many are refused with their location", async () => {
  const good = await object("good", "1");
  for (const ref of ["", "text", `${base}/table/${"f".repeat(64)}`, `${base}/call/1`, `${base}/object/good:*`]) {
    await expect(read(good, ref)).rejects.toMatchObject({ code: "invalid", loc: ["refs", 1] });
  }
  const many = Array.from({ length: 1001 }, () => good);
  await expect(read(...many)).rejects.toMatchObject({ code: "invalid", loc: ["refs"] });
  expect(await read(...many.slice(1))).toHaveLength(1000);
});

test("equal refs are read once and share their text", async () => {
  const ref = await object("repeated", `{"text":"${"x".repeat(100_000)}"}`);
  const meter = new MemoryMeter();
  const refs = Array.from({ length: 1000 }, () => ref);
  const values = await store.refs.readBatch(refs, { ...everything, reserve: meter.reserve });
  expect(new Set(values).size).toBe(1);
  expect(meter.total).toBeLessThan(110_000);
});

test("paths through too much text are refused, not followed for seconds", async () => {
  const ref = await object("wide", `{"text":"${"x".repeat(1_000_000)}"}`);
  const refs = Array.from({ length: 1000 }, (_, n) => `${ref}/attr/a${n}`);
  await expect(read(...refs)).rejects.toMatchObject({ code: "too_large", loc: ["refs"] });
});
