import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listCalls, listIds } from "../../test/list-calls.js";
import { MemoryMeter } from "../../test/memory-meter.js";
import { testDatabase } from "../../test/store.js";
import type { CallsQuery } from "./calls.js";
import type { TraceStore } from "../store.js";

const t0 = 1_775_811_600_000_000n;
const db = testDatabase();
let store: TraceStore;
const projectId = newProject();
const refs = { model: "", small: "", row0: "", row1: "", op: "", foreign: "", prompt: "" };

async function object(objectId: string, val: string, project = projectId): Promise<string> {
  const { digest } = await store.objects.create({ project_id: project, object_id: objectId, val });
  return `weave:///${project}/object/${objectId}:${digest}`;
}

beforeAll(async () => {
  store = await db.open();
  refs.prompt = await object("prompt", '{"text":"Be brief","tone":["dry","kind"]}');
  refs.model = await object("model", `{"name":"big","size":70,"prompt":"${refs.prompt}"}`);
  refs.small = await object("model", '{"name":"small","size":7}');
  refs.foreign = await object("model", '{"name":"big"}', newProject());
  const rows = ['{"question":"1+1","level":2}', '{"question":"2+2","level":10}'];
  const table = await store.tables.create({ project_id: projectId, rows });
  const dataset = await object("data", `{"rows":"weave:///${projectId}/table/${table.digest}"}`);
  [refs.row0 = "", refs.row1 = ""] = table.row_digests.map((digest) => `${dataset}/attr/rows/id/${digest}`);
  const inputs = [
    `{"model":"${refs.model}","example":"${refs.row0}"}`,
    `{"model":"${refs.small}","example":"${refs.row1}"}`,
    `{"model":"${refs.foreign}","example":"weave:///${projectId}/object/data:missing"}`,
    `{"model":{"name":"inline"},"example":5,"part":"${refs.prompt}/attr/tone/index/1","tones":"${refs.prompt}/attr/tone","nested":"${refs.row0}/key/question"}`,
  ];
  await store.ingest([
    ...inputs.map((text, index) =>
      completePart({ project_id: projectId, id: `c${index}`, started_at: t0 + BigInt(index), inputs: text }),
    ),
    startPart({ project_id: projectId, id: "c4", started_at: t0 + 4n, inputs: inputs[0] }),
  ]);
});
afterAll(() => db.drop());

const equals = (path: string, value: unknown) => ({ $expr: { $eq: [{ $getField: path }, { $literal: value }] } });
const ids = (request: Omit<CallsQuery, "project_id">) => listIds(store, { project_id: projectId, ...request });

describe("a path through a ref", () => {
  it("filters by the value it leads to, in lists and counts", async () => {
    const query = equals("inputs.model.name", "big");
    expect(await ids({ query })).toEqual([]);
    expect(await ids({ query, expand_columns: ["inputs.model"] })).toEqual(["c0", "c4"]);
    expect(await ids({ query, expand_columns: ["inputs.model"], limit: 1, offset: 1 })).toEqual(["c4"]);
    expect((await store.calls.count({ project_id: projectId, query, expand_columns: ["inputs.model"] })).count).toBe(2);
  });

  it("reaches table rows", async () => {
    const expandColumns = ["inputs.example"];
    expect(await ids({ query: equals("inputs.example.question", "2+2"), expand_columns: expandColumns })).toEqual([
      "c1",
    ]);
    expect(await ids({ query: equals("inputs.example.level", 2), expand_columns: expandColumns })).toEqual([
      "c0",
      "c4",
    ]);
  });

  it("continues through refs inside the values it found", async () => {
    const expandColumns = ["inputs.model.prompt", "inputs.model"];
    expect(await ids({ query: equals("inputs.model.prompt.text", "Be brief"), expand_columns: expandColumns })).toEqual(
      ["c0", "c4"],
    );
    expect(await ids({ query: equals("inputs.model.prompt.tone.1", "kind"), expand_columns: expandColumns })).toEqual([
      "c0",
      "c4",
    ]);
  });

  it("follows the path inside a ref", async () => {
    const query = equals("inputs.tones.1", "kind");
    expect(await ids({ query, expand_columns: ["inputs.tones"] })).toEqual(["c3"]);
    expect(await ids({ query: equals("inputs.nested.0", null), expand_columns: ["inputs.nested"] })).toHaveLength(5);
  });

  it("sorts by the value it leads to, numbers as numbers, the rest last", async () => {
    const sortBy: CallsQuery["sort_by"] = [{ field: "inputs.example.level", direction: "desc" }];
    expect(await ids({ sort_by: sortBy, expand_columns: ["inputs.example"], limit: 10 })).toEqual([
      "c1",
      "c4",
      "c0",
      "c3",
      "c2",
    ]);
  });

  it("looks through several refs at once, up to a limit", async () => {
    const names = ["a", "b", "c", "d", "model"];
    const expandColumns = names.map((name) => `inputs.${name}`);
    const all = (paths: readonly string[]) => ({
      $expr: { $or: paths.map((path) => ({ $eq: [{ $getField: `${path}.name` }, { $literal: "small" }] })) },
    });
    expect(await ids({ query: all(expandColumns), expand_columns: expandColumns })).toEqual(["c1"]);
    const more = [...expandColumns, "inputs.example"];
    await expect(ids({ query: all(more), expand_columns: more })).rejects.toMatchObject({
      code: "too_large",
      loc: ["expand_columns"],
    });
  });

  it("leads through three refs in a row, and through no fourth", async () => {
    const columns = ["inputs.a", "inputs.a.b", "inputs.a.b.c", "inputs.a.b.c.d"];
    const query = (path: string) => ({ $expr: { $eq: [{ $getField: path }, { $literal: "x" }] } });
    expect(await ids({ query: query("inputs.a.b.c.x"), expand_columns: columns.slice(0, 3) })).toEqual([]);
    await expect(ids({ query: query("inputs.a.b.c.d.x"), expand_columns: columns })).rejects.toMatchObject({
      code: "too_large",
      loc: ["expand_columns"],
    });
  });
});

describe("what is shown", () => {
  it("has the values in place of the refs, with where they came from", async () => {
    const calls = await listCalls(store, {
      project_id: projectId,
      expand_columns: ["inputs.example", "inputs.model", "inputs.model.prompt"],
    });
    const [c0, , c2, c3] = calls.map(({ inputs }) => JSON.parse(inputs) as Record<string, unknown>);
    expect(c0).toEqual({
      model: {
        name: "big",
        size: 70,
        prompt: { text: "Be brief", tone: ["dry", "kind"], _ref: refs.prompt },
        _ref: refs.model,
      },
      example: { question: "1+1", level: 2, _ref: refs.row0 },
    });
    expect(c2).toEqual({ model: refs.foreign, example: `weave:///${projectId}/object/data:missing` });
    expect(c3).toMatchObject({ model: { name: "inline" }, example: 5 });
  });

  it("takes parts of values", async () => {
    const expandColumns = ["inputs.part", "inputs.nested"];
    const [call] = await listCalls(store, {
      project_id: projectId,
      filter: { call_ids: ["c3"] },
      expand_columns: expandColumns,
    });
    expect(JSON.parse(call?.inputs ?? "")).toMatchObject({ part: "kind", nested: "1+1" });
  });

  it("keeps the refs when only the search needs the values", async () => {
    const request = { query: equals("inputs.model.name", "big"), expand_columns: ["inputs.model"] };
    const calls = await listCalls(store, { project_id: projectId, ...request, return_expanded_column_values: false });
    expect(calls.map(({ inputs }) => (JSON.parse(inputs) as Record<string, unknown>)["model"])).toEqual([
      refs.model,
      refs.model,
    ]);
  });
});

describe("large values", () => {
  const large = newProject();
  const megabyte = "x".repeat(1_000_000);
  const values: string[] = [];
  beforeAll(async () => {
    for (let n = 0; n < 12; n++) values.push(await object(`large${n}`, `{"n":${n},"text":"${megabyte}"}`, large));
  });

  async function expanded(refsOfCalls: readonly string[]) {
    const opName = `op-${Math.random()}`;
    const parts = refsOfCalls.map((ref, n) =>
      completePart({ project_id: large, op_name: opName, started_at: t0 + BigInt(n), inputs: `{"model":"${ref}"}` }),
    );
    await store.ingest(parts);
    const meter = new MemoryMeter();
    const request = { project_id: large, filter: { op_names: [opName] }, expand_columns: ["inputs.model"] };
    const found: number[] = [];
    for await (const { inputs } of store.calls.query(request, { reserve: meter.reserve })) {
      found.push((JSON.parse(inputs) as { model: { n: number } }).model.n);
    }
    return { meter, found };
  }

  it("of one ref in many calls are read and held once", async () => {
    const { meter, found } = await expanded(Array.from({ length: 50 }, () => values[3] ?? ""));
    expect(found).toEqual(Array(50).fill(3));
    expect(meter.total).toBeLessThan(1_100_000);
    expect(meter.held).toBe(0);
  });

  it("of many refs are held some at a time", async () => {
    const { meter, found } = await expanded(values);
    expect(found).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(meter.most).toBeLessThan(9_000_000);
    expect(meter.held).toBe(0);
  });

  it("that are refused to the reader end the list", async () => {
    const reserve = () => Promise.reject(new Error("no memory"));
    const request = { project_id: large, expand_columns: ["inputs.model"] };
    const read = async () => {
      for await (const call of store.calls.query(request, { reserve })) expect(call.id).toBe("");
    };
    await expect(read()).rejects.toThrow("no memory");
  });
});
