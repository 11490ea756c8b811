import { afterAll, expect, test } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store = await db.open();
afterAll(() => db.drop());

const projectId = newProject();
const t0 = 1_775_811_600_000_000n;
const odd = 'a\tb\nc\\ "d" \u0001 \u2028 é 🎈 \\N';
const named = {
  project_id: projectId,
  trace_id: odd,
  parent_id: "p",
  thread_id: odd,
  turn_id: "turn",
  op_name: `weave:///acme/demo/op/${odd}:v1`,
  display_name: odd,
  wb_user_id: "user",
  wb_run_id: "acme/demo/run",
  wb_run_step: 2 ** 40,
  inputs: '{"q":1.0}',
};
const long = "long ".repeat(1000);
await store.ingest([
  completePart(
    { ...named, id: "named", started_at: t0 },
    { ended_at: t0 + 7n, exception: odd, wb_run_step_end: 9, summary: '{"s":1}' },
  ),
  completePart({ project_id: projectId, id: "plain", started_at: t0 + 1n }, { ended_at: t0 + 1n, output: undefined }),
  completePart({ project_id: projectId, id: "long", started_at: t0 + 2n }, { ended_at: t0 + 3n, exception: long }),
  completePart(
    { project_id: projectId, id: "exact", started_at: t0 + 3n, inputs: '{"n":1e999}' },
    { exception: "short" },
  ),
  startPart({ ...named, id: "runs", started_at: t0 + 4n }),
]);

/** The calls by every way to read them, which all have to find the same. */
async function calls(from: TraceStore, columns?: string[]) {
  const request = { project_id: projectId, ...(columns && { columns }) };
  const stream = await listCalls(from, request);
  expect(await listCalls(from, { ...request, limit: 100 })).toEqual(stream);
  expect(await listCalls(from, { ...request, filter: { call_ids: stream.map(({ id }) => id) } })).toEqual(stream);
  const filters = [
    { trace_ids: stream.map((call) => call.trace_id) },
    { parent_ids: [named.parent_id] },
    { op_names: [named.op_name] },
    { thread_ids: [named.thread_id] },
    { turn_ids: [named.turn_id] },
    { wb_user_ids: [named.wb_user_id] },
    { wb_run_ids: [named.wb_run_id] },
  ];
  for (const [index, filter] of filters.entries()) {
    const found = index === 0 ? stream : stream.filter(({ id }) => id === "named" || id === "runs");
    for (const limit of [{}, { limit: 100 }]) {
      expect([filter, await listCalls(from, { ...request, filter, ...limit })]).toEqual([filter, found]);
    }
  }
  if (columns !== undefined) return stream;
  for (const call of stream) expect(await from.calls.read({ project_id: projectId, id: call.id })).toEqual(call);
  return stream;
}

async function expectAll() {
  const { project_id: _, ...stated } = named;
  const [first, plain, withLong, exact, runs] = await calls(store);
  expect(first).toMatchObject({
    ...stated,
    ended_at: t0 + 7n,
    latency_us: 7n,
    status: "error",
    exception: odd,
    wb_run_step_end: 9,
    summary: '{"s":1}',
    output: '"hello"',
  });
  const absent = { parent_id: null, thread_id: null, turn_id: null, display_name: null, wb_user_id: null };
  expect(plain).toMatchObject({ ...absent, exception: null, wb_run_step: null, latency_us: 0n, output: "null" });
  expect(withLong).toMatchObject({ exception: long, status: "error", latency_us: 1n });
  expect(exact).toMatchObject({ inputs: '{"n":1e999}', exception: "short" });
  expect(runs).toMatchObject({ ...stated, status: "running", ended_at: null, latency_us: null, exception: null });
  const few = await calls(store, ["display_name", "inputs"]);
  expect(few[0]).toMatchObject({ display_name: odd, inputs: named.inputs, thread_id: null, exception: null });
  expect(few[3]).toMatchObject({ inputs: '{"n":1e999}', exception: null, output: "null" });
}

test("a call has everything that was sent, however it is read", async () => {
  await expectAll();
});

test("a trace whose calls have originals of many megabytes is read in order, whole, within what its reader may hold", async () => {
  const traced = { project_id: newProject(), trace_id: "long" };
  const inputs = (n: number) => `{"n":${n}${n % 3 === 0 ? ',"large":1e999' : ""},"text":"${"x".repeat(200_000)}"}`;
  const all = Array.from({ length: 60 }, (_, n) => ({
    ...traced,
    id: `c${n}`,
    started_at: t0 + BigInt(n),
    inputs: inputs(n),
  }));
  await store.ingest(all.map((call) => completePart(call)));
  let [held, most] = [0, 0];
  const reserve = async (bytes: number) => {
    most = Math.max(most, (held += bytes));
    return () => void (held -= bytes);
  };
  const request = { project_id: traced.project_id, filter: { trace_ids: [traced.trace_id] } };
  const read = [];
  for await (const { id, inputs: text } of store.calls.query(request, { reserve }))
    read.push([id, text === inputs(read.length)]);
  expect(read).toEqual(all.map(({ id }) => [id, true]));
  expect([held, most > 0 && most < 5_000_000]).toEqual([0, true]);
});

test("so has a call of a store that is older than the column that lists read", async () => {
  await store.close();
  await db.dropColumn("brief");
  store = await db.open();
  await expectAll();
});
