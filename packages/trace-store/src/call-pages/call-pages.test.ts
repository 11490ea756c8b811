import { afterAll, beforeAll, expect, it } from "vitest";
import { completePart, endPart, newProject, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";
import type { CallsPage, CallsPageRequest } from "./call-pages.js";

const db = testDatabase();
const t0 = 1_775_811_600_000_000n;
let store: TraceStore;

beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

type Request = Partial<CallsPageRequest> & { project_id: string };

const readPage = async (request: Request): Promise<CallsPage> =>
  await store.callPages.page({ limit: 100, preview_chars: 1000, ...request });
const idsOf = ({ calls }: CallsPage) => calls.map(({ id }) => id);

/** All calls in pages, from the beginning to the end and back. */
async function walk(request: Request): Promise<{ forth: string[]; back: string[] }> {
  const forth: string[] = [];
  let page = await readPage(request);
  for (;;) {
    forth.push(...idsOf(page));
    if (!page.has_more || page.last === undefined) break;
    page = await readPage({ ...request, start: { after: page.last } });
  }
  const back: string[] = [];
  page = await readPage({ ...request, start: { before: undefined } });
  for (;;) {
    back.unshift(...idsOf(page));
    if (!page.has_more || page.first === undefined) break;
    page = await readPage({ ...request, start: { before: page.first } });
  }
  return { forth, back };
}

const fields = [
  "started_at",
  "id",
  "ended_at",
  "op_name",
  "thread_id",
  "wb_run_step",
  "exception",
  "summary.weave.status",
  "summary.weave.latency_ms",
  "summary.weave.trace_name",
  "inputs.n",
  "inputs.text",
  "output",
];

it("pages of any order have every call once, forth and back, running calls and absent values among them", async () => {
  const projectId = newProject();
  const texts = [null, 0, -1.5, 2e300, "b", "\u{1F9F5}", "1", "é", true, { a: [1] }, "", 7, "line\n\t'\\"];
  await store.ingest(
    Array.from({ length: 30 }, (_, n) => {
      const inputs = JSON.stringify({ n: n % 3 === 0 ? undefined : n % 5, text: texts[n % texts.length] });
      const optional = n % 4 === 0 ? {} : { thread_id: `t${n % 4}`, wb_run_step: n % 4 };
      const startedAt = t0 + BigInt((n % 7) * 1_000_000);
      const start = {
        project_id: projectId,
        id: `c${n}`,
        op_name: `op${n % 2}`,
        started_at: startedAt,
        inputs,
        ...optional,
      };
      if (n % 6 === 0) return startPart(start);
      const endedAt = startedAt + BigInt((n % 5) * 1_000_000);
      return completePart(start, { ended_at: endedAt, ...(n % 5 === 0 && { exception: "x".repeat(n * 40) }) });
    }),
  );
  for (const [index, field] of fields.entries()) {
    const isNullable = field === "thread_id" || field.startsWith("inputs.");
    const [one, other] = index % 2 === 0 ? (["asc", "desc"] as const) : (["desc", "asc"] as const);
    for (const direction of isNullable ? [one, other] : [one]) {
      const request = { project_id: projectId, sort_by: [{ field, direction }] };
      const whole = idsOf(await readPage({ ...request, limit: 1000 }));
      expect(whole.toSorted()).toHaveLength(30);
      const { forth, back } = await walk({ ...request, limit: 16 });
      expect(forth, `${field} ${direction}`).toEqual(whole);
      expect(back, `${field} ${direction}`).toEqual(whole);
    }
  }
  const two = {
    project_id: projectId,
    sort_by: [
      { field: "op_name", direction: "desc" },
      { field: "inputs.n", direction: "asc" },
    ],
  };
  const { forth, back } = await walk({ ...two, limit: 4 } as Request);
  expect(new Set(forth).size).toBe(30);
  expect(back).toEqual(forth);
});

it("arrivals and ends shift no page, and running calls come out of memory in their place", async () => {
  const projectId = newProject();
  const at = (n: number) => ({ project_id: projectId, id: `c${n}`, started_at: t0 + BigInt(n * 1_000_000) });
  await store.ingest(Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? startPart(at(n)) : completePart(at(n)))));
  const newest = await readPage({ project_id: projectId, limit: 4 });
  expect(idsOf(newest)).toEqual(["c9", "c8", "c7", "c6"]);
  await store.ingest([completePart(at(20)), endPart({ project_id: projectId, id: "c4" }), completePart(at(-1))]);
  const older = await readPage({ project_id: projectId, limit: 4, start: { after: newest.last ?? [] } });
  expect(idsOf(older)).toEqual(["c5", "c4", "c3", "c2"]);
  const newer = await readPage({ project_id: projectId, start: { before: newest.first ?? [] } });
  expect(idsOf(newer)).toEqual(["c20"]);
  expect(newer.has_more).toBe(false);
  const atTime = async (direction: "asc" | "desc", n: number) =>
    idsOf(
      await readPage({
        project_id: projectId,
        sort_by: [{ field: "started_at", direction }],
        start: { at_time: t0 + BigInt(n) },
        limit: 2,
      }),
    );
  expect(await atTime("asc", 3_000_000)).toEqual(["c3", "c4"]);
  expect(await atTime("desc", 3_000_000)).toEqual(["c3", "c2"]);
  expect(await atTime("desc", 3_500_000)).toEqual(["c3", "c2"]);
  const byName = { project_id: projectId, sort_by: [{ field: "op_name", direction: "asc" as const }] };
  await expect(readPage({ ...byName, start: { at_time: t0 } })).rejects.toMatchObject({ loc: ["at_time"] });
});

it.each(["1.0", "1E2", "100e-2", "-0.0", "10", "18446744073709551615", "1.50"])(
  "a leaf that is asked for alone has the text %s that was sent, as one beside others does",
  async (number) => {
    const projectId = newProject();
    const inputs = `{"n":${number},"list":[[${number}]]}`;
    await store.ingest([startPart({ project_id: projectId, id: "one", inputs })]);
    for (const field of ["inputs.n", "inputs.list.0.0"]) {
      const { calls } = await readPage({ project_id: projectId, select: [field], preview_chars: 50 });
      expect(calls[0]?.values).toBe(`{"${field}":${number}}`);
    }
  },
);

it("leaves come as the exact text, long ones cut with what they are", async () => {
  const projectId = newProject();
  const long = "\u{1F9F5}é".repeat(3000);
  const inputs = `{"f": 1.0, "big":107505301260286111 , "zero":-0,"huge":123456789012345678901234567890,"d":1,"d":2.50,
    "text":"\\u00e9\\n","long":${JSON.stringify(long)},"list":[ 1.0,{"a" : [true,null]}],"yes":true,"none":null,
    "odd.key":"o","__proto__":{"x":1e5},"lone":"\\ud800"}`;
  const output = `{"score":0.10,"list":[1, 2],"text":"short","filler":"${"y".repeat(40_000)}"}`;
  const fields = { project_id: projectId, inputs };
  await store.ingest([completePart({ ...fields, id: "ended" }, { output }), startPart({ ...fields, id: "running" })]);
  const paths = ["f", "big", "zero", "huge", "d", "text", "list", "list.1.a.0", "list.01", "yes", "none", "odd\\.key"];
  const more = ["__proto__.x", "lone", "missing.x", "long"].map((path) => `inputs.${path}`);
  const select = [
    ...paths.map((path) => `inputs.${path}`),
    ...more,
    "output.score",
    "output.list",
    "output.text",
    "output",
  ];
  const { calls } = await readPage({
    project_id: projectId,
    select,
    preview_chars: 50,
    sort_by: [{ field: "id", direction: "asc" }],
  });
  const shared = {
    "inputs.f": "1.0",
    "inputs.big": "107505301260286111",
    "inputs.zero": "-0",
    "inputs.huge": "123456789012345678901234567890",
    "inputs.d": "2.50",
    "inputs.list": '[ 1.0,{"a" : [true,null]}]',
    "inputs.list.1.a.0": "true",
    "inputs.list.01": '{"a" : [true,null]}',
    "inputs.yes": "true",
    "inputs.odd\\.key": '"o"',
    "inputs.__proto__.x": "1e5",
    "inputs.lone": '"\\ud800"',
  };
  const texts = Object.entries(shared).map(([path, text]) => `${JSON.stringify(path)}:${text}`);
  expect(calls.map(({ id }) => id)).toEqual(["ended", "running"]);
  for (const { values, cut } of calls) {
    for (const text of texts) expect(values).toContain(text);
    expect(JSON.parse(values ?? "")["inputs.text"]).toBe("é\n");
    expect(values).not.toContain("inputs.none");
    expect(new Map(cut).get("inputs.long")).toEqual({ text: "\u{1F9F5}é".repeat(25), chars: 6000, kind: "string" });
  }
  const [ended] = calls;
  expect(ended?.values).toContain('"output.score":0.10,"output.list":[1, 2],"output.text":"short"');
  expect(new Map(ended?.cut).get("output")).toMatchObject({ kind: "object", chars: output.length });
  const { calls: none } = await readPage({
    project_id: projectId,
    select: ["inputs.f", "inputs.yes"],
    preview_chars: 0,
  });
  expect(none[0]?.values).toBeUndefined();
  expect(none[0]?.cut).toEqual([
    ["inputs.f", { text: "", chars: expect.any(Number), kind: "number" }],
    ["inputs.yes", { text: "", chars: 4, kind: "boolean" }],
  ]);
});

it("a short page of the newest calls shows of each what a long one in another order does", async () => {
  const projectId = newProject();
  const sizes = [10, 900, 16_000, 17_000, 60_000];
  const usage = { "gpt-x": { prompt_tokens: 10, completion_tokens: 5, requests: 1 } };
  const parts = sizes.flatMap((size, n) => {
    const inputs = `{"n":${n}.0,"text":"${"x".repeat(size)}"}`;
    const start = { project_id: projectId, id: `c${n}`, inputs, op_name: `op${n}`, started_at: t0 + BigInt(n) };
    const summary = JSON.stringify({ usage, filler: "y".repeat(sizes[4 - n] ?? 0) });
    return [completePart(start, { output: `[${n}.0]`, summary }), startPart({ ...start, id: `r${n}` })];
  });
  await store.ingest([...parts, completePart({ project_id: projectId, id: "replaced", inputs: '{"n":1.0}' })]);
  const again = { project_id: projectId, id: "replaced", inputs: '{"n":2.0}', started_at: t0 + 9n };
  await store.ingest([completePart(again), completePart({ project_id: projectId, id: "deleted" })]);
  await store.calls.delete(projectId, ["deleted"], "ann");
  await store.calls.rename(projectId, "c1", "renamed");
  const more = { feedback: true, sizes: true, costs: true };
  const query = { $expr: { $gte: [{ $getField: "inputs.n" }, { $literal: 0 }] } };
  for (const asked of [{}, { query }, { select: ["inputs.n", "inputs.text", "output", "tokens", "name"], ...more }]) {
    const short = await readPage({ project_id: projectId, ...asked, preview_chars: 20 });
    const long = await readPage({
      project_id: projectId,
      ...asked,
      preview_chars: 20,
      sort_by: [{ field: "id", direction: "asc" }],
      limit: 1000,
    });
    expect(short.calls.map(({ id }) => id)).toHaveLength(11);
    expect(short.calls.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(long.calls);
    const pages = await walk({ project_id: projectId, ...asked, preview_chars: 20, limit: 2 });
    expect(pages.forth).toEqual(idsOf(short));
    expect(pages.back).toEqual(idsOf(short));
  }
});

it("a row has what was asked for: names, costs, feedback, sizes, and the sequence of its last change", async () => {
  const projectId = newProject();
  const usage = { "gpt-x": { prompt_tokens: 10, completion_tokens: 5, requests: 1 } };
  const call = { project_id: projectId, id: "a", op_name: `weave:///${projectId}/op/answer:abc`, wb_user_id: "ann" };
  await store.ingest([completePart(call, { summary: JSON.stringify({ usage }) }), startPart({ ...call, id: "b" })]);
  await store.costs.create({
    project_id: projectId,
    costs: { "gpt-x": { prompt_token_cost: 2, completion_token_cost: 3 } },
    created_by: "ann",
  });
  const read = async (more: Partial<CallsPageRequest> = {}) =>
    await readPage({ project_id: projectId, sort_by: [{ field: "id", direction: "asc" }], ...more });
  const before = await read({ costs: true, sizes: true, feedback: true });
  expect(before.calls).toMatchObject([
    {
      id: "a",
      name: "answer",
      status: "success",
      latency_ms: expect.any(Number),
      tokens: 15,
      cost: 35,
      feedback: [],
      user_id: "ann",
    },
    { id: "b", name: "answer", status: "running" },
  ]);
  expect(before.calls[1]).not.toHaveProperty("ended_at", expect.anything());
  const [first] = before.calls;
  expect(first?.seq).toBeLessThanOrEqual(before.seq);
  await store.calls.rename(projectId, "a", "renamed");
  const after = await read({ select: ["name"] });
  expect(after.calls[0]).toMatchObject({ id: "a", name: "renamed" });
  expect(after.calls[0]?.seq).toBeGreaterThan(first?.seq ?? 0n);
  expect(after.calls[0]?.seq).toBeLessThanOrEqual(after.seq);
  expect(Object.entries(after.calls[0] ?? {}).filter(([, value]) => value !== undefined)).toHaveLength(4);
});

it("counts what matches, or estimates it by the newest calls", async () => {
  const projectId = newProject();
  await store.ingest(
    Array.from({ length: 6 }, (_, n) => completePart({ project_id: projectId, op_name: `op${n % 2}` })),
  );
  const filter = { op_names: ["op1"] };
  expect(await readPage({ project_id: projectId, filter, total: "exact", limit: 1 })).toMatchObject({
    total: { value: 3, exact: true },
  });
  expect(await readPage({ project_id: projectId, filter, total: "estimate" })).toMatchObject({
    total: { value: 3, exact: true },
  });
  expect(await readPage({ project_id: projectId })).not.toHaveProperty("total");
});

it("refuses what rows do not have", async () => {
  const refused = async (select: string[]) =>
    await readPage({ project_id: newProject(), select }).catch((error: unknown) => error);
  for (const text of [
    "__proto__",
    "constructor",
    "feedback.[*].payload",
    "wb_user_id",
    "",
    "inputs" + ".x".repeat(300),
  ]) {
    expect(await refused(["name", text])).toMatchObject({ code: "unprocessable", loc: ["select", 1] });
  }
  const expensive = Array.from({ length: 100 }, (_, n) => `inputs.${n}${".x".repeat(190)}`);
  expect(await refused(expensive)).toMatchObject({ code: "too_large", loc: ["select"] });
});
