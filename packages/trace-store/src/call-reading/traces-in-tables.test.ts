import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completePart, newProject, startPart } from "../../test/call-parts.js";
import { listCalls } from "../../test/list-calls.js";
import { recordedReads } from "../../test/recorded-reads.js";
import { testDatabase } from "../../test/store.js";
import type { CallsQuery } from "../calls/calls.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
afterAll(() => db.drop());
const reads = recordedReads();
let store: TraceStore;
const t0 = 1_775_811_600_000_000n;
const projectId = newProject();

const traces = {
  small: { calls: 40, inputs: () => "{}" },
  replaced: { calls: 30, inputs: () => "{}" },
  "of originals": { calls: 30, inputs: (n: number) => (n % 2 === 0 ? "{}" : '{"n":123456789012345678901234567890}') },
  "of many calls": { calls: 1_100, inputs: () => "{}" },
  "of large calls": { calls: 8, inputs: () => `{"pad":"${"x".repeat(900_000)}"}` },
};

beforeAll(async () => {
  store = await db.open({ wrapEngine: reads.wrap, limits: { newestCallBytes: 0 } });
  const partsOf = (trace: keyof typeof traces, output?: string) =>
    Array.from({ length: traces[trace].calls }, (_, n) => {
      const call = {
        project_id: projectId,
        id: `${trace} ${n}`,
        trace_id: trace,
        // Of two that start together the id decides.
        started_at: t0 + BigInt(n % 7),
        inputs: traces[trace].inputs(n),
      };
      return n % 5 === 0 ? startPart(call) : completePart(call, output === undefined ? {} : { output });
    });
  for (const trace of Object.keys(traces) as Array<keyof typeof traces>) await store.ingest(partsOf(trace));
  await store.ingest(partsOf("replaced", '"again"'));
  await store.calls.delete(projectId, ["small 1"], "user");
});

/** Sorted by the engine. */
const bothKeys = (direction: "asc" | "desc"): CallsQuery["sort_by"] => [
  { field: "started_at", direction },
  { field: "id", direction },
];

describe.each(Object.keys(traces) as Array<keyof typeof traces>)("a trace, %s,", (trace) => {
  it.each(["asc", "desc"] as const)(
    "has its calls in order, whole and from an offset to a limit (%s)",
    async (direction) => {
      for (const page of [{}, { limit: 10 }, { limit: 5, offset: 3 }, { offset: 25 }]) {
        const request: CallsQuery = { project_id: projectId, filter: { trace_ids: [trace] }, ...page };
        const all = await listCalls(store, { ...request, sort_by: bothKeys(direction) });
        const found = await listCalls(store, { ...request, sort_by: [{ field: "started_at", direction }] });
        expect(found).toEqual(all);
      }
    },
  );
});

it("small traces take one statement, which sorts nothing", async () => {
  reads.reset();
  const calls = await listCalls(store, { project_id: projectId, filter: { trace_ids: ["small", "replaced"] } });
  expect(calls).toHaveLength(69);
  expect(reads.sent.map(({ sql }) => sql.includes("ORDER BY"))).toEqual([false]);
});
