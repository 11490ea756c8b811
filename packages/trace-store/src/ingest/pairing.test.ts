import { HeddleError } from "@heddle/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId, type CallPart } from "@heddle/trace-model";
import {
  callEnd,
  callStart,
  completePart,
  endPart,
  newProject,
  nowUs,
  openHalves,
  startPart,
  visibleCalls,
} from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { TraceStore } from "../store.js";

const db = testDatabase();
let store: TraceStore;
beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

const hour = 3_600_000_000n;
const at = (text: string) => BigInt(Date.parse(text)) * 1000n;

describe("a call whose start and end come apart", () => {
  test("is running after its start and complete after its end, and there once", async () => {
    const project_id = newProject();
    const id = newId();
    expect(await store.ingest([startPart({ project_id, id })])).toEqual([]);
    expect(await visibleCalls(db.engine, project_id)).toMatchObject([{ id, running: 1, output: "null" }]);
    await store.ingest([endPart({ project_id, id })]);
    expect(await visibleCalls(db.engine, project_id)).toMatchObject([{ id, running: 0, output: '"hello"' }]);
    expect(await openHalves(db.engine, project_id)).toEqual([]);
  });

  test("becomes visible with its start when the end came first", async () => {
    const project_id = newProject();
    const id = newId();
    await store.ingest([endPart({ project_id, id })]);
    expect(await visibleCalls(db.engine, project_id)).toEqual([]);
    expect(await openHalves(db.engine, project_id)).toEqual([{ id, part: "end" }]);
    await store.ingest([startPart({ project_id, id })]);
    expect(await visibleCalls(db.engine, project_id)).toMatchObject([{ id, running: 0, output: '"hello"' }]);
    expect(await openHalves(db.engine, project_id)).toEqual([]);
  });

  test("is written complete at once when both come in one batch, in any order", async () => {
    const project_id = newProject();
    const [first, second] = [newId(), newId()];
    await store.ingest([
      startPart({ project_id, id: first }),
      endPart({ project_id, id: second }),
      endPart({ project_id, id: first }),
      startPart({ project_id, id: second }),
    ]);
    const calls = await visibleCalls(db.engine, project_id);
    expect(calls.map(({ running }) => running)).toEqual([0, 0]);
    const parts = await db.engine.rows<{ rows: string }>({
      sql: `SELECT count() AS rows FROM call_parts WHERE project_id = '${project_id}'`,
    });
    expect(parts).toEqual([{ rows: "0" }]);
  });

  test("meets also when both requests wait for the same commit", async () => {
    const project_id = newProject();
    const id = newId();
    await Promise.all([store.ingest([startPart({ project_id, id })]), store.ingest([endPart({ project_id, id })])]);
    expect(await visibleCalls(db.engine, project_id)).toMatchObject([{ id, running: 0 }]);
  });
});

describe("a batch that is sent again", () => {
  test("changes nothing, whether halves or complete calls, and writes nothing", async () => {
    const project_id = newProject();
    const [id, lone, early] = [newId(), newId(), newId()];
    const batch = [
      completePart({ project_id }),
      startPart({ project_id, id }),
      endPart({ project_id, id }),
      startPart({ project_id, id: lone }),
      endPart({ project_id, id: early }),
    ];
    for (let times = 0; times < 3; times++) await store.ingest(batch);
    expect(await visibleCalls(db.engine, project_id)).toHaveLength(3);
    for (const table of ["calls", "call_parts"]) {
      const sql = `SELECT count() AS rows FROM ${table} WHERE project_id = '${project_id}'`;
      expect(await db.engine.rows({ sql })).toEqual([{ rows: "2" }]);
    }
  });

  test("changes nothing when it holds numbers and texts that the engine cannot read as JSON", async () => {
    const project_id = newProject();
    const inputs = String.raw`{"a":1.0,"b":18446744073709551616,"c":"\ud800","d":NaN,"a":1e400}`;
    const batch = [completePart({ project_id, inputs, attributes: inputs }, { output: inputs, summary: inputs })];
    await store.ingest(batch);
    await store.ingest(batch);
    expect(await visibleCalls(db.engine, project_id)).toHaveLength(1);
    expect(await db.engine.rows({ sql: `SELECT id FROM call_hidden WHERE project_id = '${project_id}'` })).toEqual([]);
  });
});

describe("a part that says something new", () => {
  test("a second end replaces the first and keeps the start", async () => {
    const project_id = newProject();
    const id = newId();
    await store.ingest([startPart({ project_id, id, inputs: '{"kept":true}' }), endPart({ project_id, id })]);
    await store.ingest([endPart({ project_id, id, output: '"second"' })]);
    expect(await visibleCalls(db.engine, project_id)).toMatchObject([
      { id, output: '"second"', inputs: '{"kept":true}' },
    ]);
  });

  test("a changed start replaces the start and keeps the end", async () => {
    const project_id = newProject();
    const id = newId();
    const start = callStart({ project_id, id });
    await store.ingest([{ part: "start", start }, endPart({ project_id, id, output: '"kept"' })]);
    await store.ingest([{ part: "start", start: { ...start, op_name: "renamed" } }]);
    expect(await visibleCalls(db.engine, project_id)).toMatchObject([{ id, op_name: "renamed", output: '"kept"' }]);
  });

  test("a changed start of a running call replaces it", async () => {
    const project_id = newProject();
    const id = newId();
    await store.ingest([startPart({ project_id, id, op_name: "first" })]);
    await store.ingest([startPart({ project_id, id, op_name: "second" })]);
    expect(await visibleCalls(db.engine, project_id)).toMatchObject([{ id, op_name: "second", running: 1 }]);
  });

  test("a changed started_at moves the call and leaves no double, in the future, now and long ago", async () => {
    for (const offset of [48n * hour, 0n, -48n * hour, -24n * 400n * hour]) {
      const project_id = newProject();
      const call = completePart({ project_id, started_at: nowUs() + offset });
      if (call.part !== "complete") throw new Error("not complete");
      await store.ingest([call]);
      const moved = { ...call.start, started_at: call.start.started_at + 7n * hour };
      await store.ingest([{ ...call, start: moved }]);
      // What memory no longer holds is found within the minute.
      await store.maintain();
      const seen = await visibleCalls(db.engine, project_id);
      expect(seen.map(({ us }) => us)).toEqual([String(moved.started_at)]);
    }
  });
});

test("two projects may use the same id", async () => {
  const [first, second] = [newProject(), newProject()];
  const id = "00f067aa0ba902b7";
  await store.ingest([startPart({ project_id: first, id }), startPart({ project_id: second, id })]);
  await store.ingest([endPart({ project_id: first, id })]);
  expect(await visibleCalls(db.engine, second)).toMatchObject([{ id, running: 1 }]);
  await store.calls.delete(second, [id], "user");
  expect(await visibleCalls(db.engine, first)).toMatchObject([{ id, running: 0 }]);
  expect(await visibleCalls(db.engine, second)).toEqual([]);
  await store.ingest([endPart({ project_id: first, id, output: "2" })]);
  expect(await visibleCalls(db.engine, first)).toMatchObject([{ output: "2" }]);
});

test("calls from 1900 to 2299 are kept, others are refused one by one", async () => {
  const project_id = newProject();
  const times = [
    at("1899-12-31T23:59:59Z"),
    at("1900-01-01T00:00:00Z"),
    at("1969-12-31T23:59:59Z"),
    at("2299-12-31T23:59:59Z"),
    at("2300-01-01T00:00:00Z"),
  ];
  const rejected = await store.ingest(
    times.map((started_at) => completePart({ project_id, started_at }, { ended_at: started_at })),
  );
  expect(rejected).toEqual([
    { index: 0, message: "started_at must lie between the years 1900 and 2299" },
    { index: 4, message: "started_at must lie between the years 1900 and 2299" },
  ]);
  const seen = await visibleCalls(db.engine, project_id);
  expect(seen.map(({ us }) => us)).toEqual(times.slice(1, 4).map(String));
});

test("steps that no column can hold are refused one by one", async () => {
  const project_id = newProject();
  const steps = [0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER];
  const starts = steps.map((wb_run_step) => startPart({ project_id, wb_run_step }));
  const ends = steps.map((wb_run_step_end) => endPart({ project_id, id: newId(), wb_run_step_end }));
  const message = (name: string) => `${name} must be a whole number from 0 to 2^53 - 1`;
  expect(await store.ingest([...starts, ...ends])).toEqual([
    ...[1, 2, 3].map((index) => ({ index, message: message("wb_run_step") })),
    ...[6, 7, 8].map((index) => ({ index, message: message("wb_run_step_end") })),
  ]);
  expect(await visibleCalls(db.engine, project_id)).toHaveLength(2);
});

test("ids of 256 characters are kept, longer, empty and broken ones are refused", async () => {
  const project_id = newProject();
  const ids = ["x".repeat(256), "y".repeat(257), "", "\ud800", "🧵 '\\\n\u0000"];
  const rejected = await store.ingest(ids.map((id) => startPart({ project_id, id, trace_id: "t" })));
  expect(rejected.map(({ index }) => index)).toEqual([1, 2, 3]);
  expect(new Set((await visibleCalls(db.engine, project_id)).map(({ id }) => id))).toEqual(new Set([ids[0], ids[4]]));
  await store.ingest([endPart({ project_id, id: ids[4] ?? "" })]);
  expect(await openHalves(db.engine, project_id)).toHaveLength(1);
});

test("a batch over nine years is one batch", async () => {
  const project_id = newProject();
  const month = 30n * 24n * hour;
  const parts = Array.from({ length: 110 }, (_, index) =>
    completePart({ project_id, started_at: nowUs() - BigInt(index) * month }),
  );
  await untilTaken(parts);
  await untilTaken(parts);
  expect(await visibleCalls(db.engine, project_id)).toHaveLength(110);
});

/** As clients do: a commit of 110 parts on a slow disk may outlast a request's patience, and is sent again. */
async function untilTaken(parts: CallPart[]): Promise<void> {
  await store.ingest(parts).catch((error: unknown) => {
    if (error instanceof HeddleError && error.code === "busy") return untilTaken(parts);
    throw error;
  });
}

test("the calls of one batch may depend on each other: the last part wins", async () => {
  const project_id = newProject();
  const start = callStart({ project_id });
  const end = callEnd({ project_id, id: start.id });
  await store.ingest([
    { part: "complete", start, end },
    { part: "end", end: { ...end, output: '"newer"' } },
    { part: "start", start: { ...start, op_name: "newer" } },
  ]);
  expect(await visibleCalls(db.engine, project_id)).toMatchObject([{ op_name: "newer", output: '"newer"' }]);
});
