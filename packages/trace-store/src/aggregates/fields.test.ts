import { afterAll, beforeAll, expect, test } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { FieldsRequest } from "./fields.js";

const db = testDatabase();
let store: TraceStore;
const projectId = newProject();
const t0 = 1_775_811_600_000_000n;

beforeAll(async () => {
  store = await db.open();
  const inputs = (n: number) => ({
    lang: n % 3 === 0 ? "de" : "en",
    "a.b": n,
    user: { name: "ann", tags: ["x"] },
    ...(n % 10 === 0 && { rare: n % 20 === 0 ? null : 1.5, long: "x".repeat(1000) }),
  });
  await store.ingest([
    ...Array.from({ length: 2500 }, (_, n) =>
      completePart(
        { project_id: projectId, id: `c${n}`, started_at: t0 + BigInt(n), inputs: JSON.stringify(inputs(n)) },
        { output: n % 2 === 0 ? '"yes"' : "[1, 2]" },
      ),
    ),
    startPart({ project_id: projectId, id: "running", started_at: t0 + 5000n, inputs: '{"lang":"fr","only":true}' }),
    completePart({ project_id: projectId, id: "deleted", started_at: t0 + 6000n, inputs: '{"secret":1}' }),
    completePart({ project_id: newProject(), started_at: t0 + 7000n, inputs: '{"foreign":1}' }),
  ]);
  await store.calls.delete(projectId, ["deleted"], "ann");
});
afterAll(() => db.drop());

/** With all the time that is needed. */
async function find(request: Partial<FieldsRequest> = {}) {
  for (;;) {
    const found = await store.aggregates.fields({ project_id: projectId, sample: 20_000, ...request });
    if (found.complete) return found;
  }
}

test("members of documents come with their types, how many calls have them, and values", async () => {
  const { fields, sampled, of } = await find({ under: "inputs" });
  expect([sampled, of]).toEqual([2501, { value: 2501, exact: true }]);
  expect(fields.map(({ path, types, present }) => [path, types.join(), present])).toEqual([
    ["inputs.lang", "string", 2501],
    [String.raw`inputs.a\.b`, "number", 2500],
    ["inputs.user", "object", 2500],
    ["inputs.long", "string", 250],
    ["inputs.rare", "null,number", 250],
    ["inputs.only", "boolean", 1],
  ]);
  expect(fields[0]?.top).toEqual([
    { value: "en", count: 1666 },
    { value: "de", count: 834 },
    { value: "fr", count: 1 },
  ]);
  expect(fields[2]?.top).toEqual([{ value: '{"name":"ann","tags":["x"]}', count: 2500 }]);
  expect(fields[3]?.top).toEqual([{ value: "x".repeat(200), count: 250 }]);
  // Each path finds as many calls as it says.
  for (const { path, present, types } of fields) {
    if (types.includes("null")) continue;
    const query = { $expr: { $not: [{ $eq: [{ $getField: path }, { $literal: null }] }] } };
    expect(await store.calls.count({ project_id: projectId, query })).toMatchObject({ count: present });
  }
});

test("without a place, all documents are looked into; a deeper one can be named", async () => {
  const all = await find();
  expect(all.fields.map(({ path }) => path)).toEqual(expect.arrayContaining(["inputs.lang", "inputs.user"]));
  expect((await find({ under: "inputs.user" })).fields.map(({ path }) => path)).toEqual([
    "inputs.user.name",
    "inputs.user.tags",
  ]);
  expect((await find({ under: "inputs", prefix: "l" })).fields.map(({ path }) => path)).toEqual([
    "inputs.lang",
    "inputs.long",
  ]);
  expect((await find({ under: "inputs.lang" })).fields).toEqual([]);
});

test("the values of one field are those of all kinds of fields, and can be narrowed", async () => {
  const { fields } = await find({ path: "output" });
  expect(fields).toEqual([
    {
      path: "output",
      types: ["list", "string"],
      present: 2500,
      top: [
        { value: "[1,2]", count: 1250 },
        { value: "yes", count: 1250 },
      ].map((top) => ({ ...top, value: expect.stringMatching(/^(yes|\[1, ?2\])$/) })),
    },
  ]);
  expect((await find({ path: "summary.weave.status" })).fields).toEqual([
    {
      path: "summary.weave.status",
      types: ["string"],
      present: 2501,
      top: [
        { value: "success", count: 2500 },
        { value: "running", count: 1 },
      ],
    },
  ]);
  expect((await find({ path: "inputs.lang", prefix: "d" })).fields[0]?.top).toEqual([{ value: "de", count: 834 }]);
  expect((await find({ path: "exception" })).fields).toEqual([]);
});

test("the newest calls that match are looked at, as many as asked for", async () => {
  const newest = await find({ under: "inputs", sample: 3 });
  expect([newest.sampled, newest.fields.map(({ path }) => path)]).toEqual([
    3,
    expect.arrayContaining(["inputs.only", String.raw`inputs.a\.b`]),
  ]);
  const query = { $expr: { $eq: [{ $getField: "inputs.lang" }, { $literal: "de" }] } };
  expect(await find({ path: "inputs.lang", query })).toMatchObject({
    sampled: 834,
    fields: [{ top: [{ value: "de", count: 834 }] }],
  });
  expect(await find({ filter: { call_ids: ["nobody"] } })).toMatchObject({ sampled: 0, fields: [], complete: true });
});

test("a search says of how many calls that match it, as a query does", async () => {
  const searched = newProject();
  const inputs = (n: number) => JSON.stringify({ text: n === 0 ? "rare word" : "common word" });
  await store.ingest(Array.from({ length: 5 }, (_, n) => completePart({ project_id: searched, inputs: inputs(n) })));
  for (const text of ["rare", "word", "none"]) {
    const found = await find({ project_id: searched, under: "inputs", search: { text } });
    const calls = { rare: 1, word: 5 }[text] ?? 0;
    expect(found).toMatchObject({ sampled: calls, of: { value: calls, exact: true } });
  }
});

test.each([
  [{ under: "op_name" }, ["under"]],
  [{ under: "nonsense" }, ["under"]],
  [{ path: "nonsense" }, ["path"]],
  [{ path: "__proto__" }, ["path"]],
] as const)("%o is refused with its place", async (request, loc) => {
  await expect(find(request)).rejects.toMatchObject({ code: "unprocessable", loc: [...loc] });
});

test("values are shown as they were sent, to the digit", async () => {
  const project = newProject();
  const inputs =
    '{"t":1.0,"big":107505301260286111,"wide":123456789012345678901234567890,"list":[1.50, 2],"text":"1.0"}';
  await store.ingest([completePart({ project_id: project, id: "a", started_at: t0, inputs })]);
  const top = (found: { fields: Array<{ path: string; top: Array<{ value: string }> }> }) =>
    Object.fromEntries(found.fields.map(({ path, top: [first] }) => [path, first?.value]));
  expect(top(await find({ project_id: project, under: "inputs" }))).toEqual({
    "inputs.t": "1.0",
    "inputs.big": "107505301260286111",
    "inputs.wide": "123456789012345678901234567890",
    "inputs.list": "[1.50, 2]",
    "inputs.text": "1.0",
  });
  expect(top(await find({ project_id: project, path: "inputs.t" }))).toEqual({ "inputs.t": "1.0" });
  expect(top(await find({ project_id: project, path: "inputs.list.0" }))).toEqual({ "inputs.list.0": "1.50" });
});
