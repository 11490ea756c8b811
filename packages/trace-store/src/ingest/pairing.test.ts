import { HeddleError } from "@heddle/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";
import {
  callEnd,
  callStart,
  completePart,
  endPart,
  newProject,
  nowUs,
  openSides,
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

describe("a call whose start and end arrive separately", () => {
  test("is running after its start and complete after its end, and there once", async () => {
    const projectId = newProject();
    const id = newId();
    expect(await store.ingest([startPart({ project_id: projectId, id })])).toEqual([]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ id, running: 1, output: "null" }]);
    await store.ingest([endPart({ project_id: projectId, id })]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ id, running: 0, output: '"hello"' }]);
    expect(await openSides(db.engine, projectId)).toEqual([]);
  });

  test("becomes visible with its start when the end came first", async () => {
    const projectId = newProject();
    const id = newId();
    await store.ingest([endPart({ project_id: projectId, id })]);
    expect(await visibleCalls(db.engine, projectId)).toEqual([]);
    expect(await openSides(db.engine, projectId)).toEqual([{ id, part: "end" }]);
    await store.ingest([startPart({ project_id: projectId, id })]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ id, running: 0, output: '"hello"' }]);
    expect(await openSides(db.engine, projectId)).toEqual([]);
  });

  test("is written complete when both arrive in one batch, in any order", async () => {
    const projectId = newProject();
    const [first, second] = [newId(), newId()];
    await store.ingest([
      startPart({ project_id: projectId, id: first }),
      endPart({ project_id: projectId, id: second }),
      endPart({ project_id: projectId, id: first }),
      startPart({ project_id: projectId, id: second }),
    ]);
    const calls = await visibleCalls(db.engine, projectId);
    expect(calls.map(({ running }) => running)).toEqual([0, 0]);
    const parts = await db.engine.rows<{ rows: string }>({
      sql: `SELECT count() AS rows FROM call_parts WHERE project_id = '${projectId}'`,
    });
    expect(parts).toEqual([{ rows: "0" }]);
  });

  test("meets also when both requests wait for the same commit", async () => {
    const projectId = newProject();
    const id = newId();
    await Promise.all([
      store.ingest([startPart({ project_id: projectId, id })]),
      store.ingest([endPart({ project_id: projectId, id })]),
    ]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ id, running: 0 }]);
  });
});

describe("a batch that is sent again", () => {
  test("changes nothing, whether parts or complete calls, and writes nothing", async () => {
    const projectId = newProject();
    const [id, lone, early] = [newId(), newId(), newId()];
    const batch = [
      completePart({ project_id: projectId }),
      startPart({ project_id: projectId, id }),
      endPart({ project_id: projectId, id }),
      startPart({ project_id: projectId, id: lone }),
      endPart({ project_id: projectId, id: early }),
    ];
    for (let times = 0; times < 3; times++) await store.ingest(batch);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(3);
    for (const table of ["calls", "call_parts"]) {
      const sql = `SELECT count() AS rows FROM ${table} WHERE project_id = '${projectId}'`;
      expect(await db.engine.rows({ sql })).toEqual([{ rows: "2" }]);
    }
  });

  test("changes nothing when it holds numbers and texts that the engine cannot read as JSON", async () => {
    const projectId = newProject();
    const inputs = String.raw`{"a":1.0,"b":18446744073709551616,"c":"\ud800","d":NaN,"a":1e400}`;
    const batch = [
      completePart({ project_id: projectId, inputs, attributes: inputs }, { output: inputs, summary: inputs }),
    ];
    await store.ingest(batch);
    await store.ingest(batch);
    expect(await visibleCalls(db.engine, projectId)).toHaveLength(1);
    expect(await db.engine.rows({ sql: `SELECT id FROM call_hidden WHERE project_id = '${projectId}'` })).toEqual([]);
  });
});

describe("a part with new content", () => {
  test("a second end replaces the first and keeps the start", async () => {
    const projectId = newProject();
    const id = newId();
    await store.ingest([
      startPart({ project_id: projectId, id, inputs: '{"kept":true}' }),
      endPart({ project_id: projectId, id }),
    ]);
    await store.ingest([endPart({ project_id: projectId, id, output: '"second"' })]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([
      { id, output: '"second"', inputs: '{"kept":true}' },
    ]);
  });

  test("a changed start replaces the start and keeps the end", async () => {
    const projectId = newProject();
    const id = newId();
    const start = callStart({ project_id: projectId, id });
    await store.ingest([{ part: "start", start }, endPart({ project_id: projectId, id, output: '"kept"' })]);
    await store.ingest([{ part: "start", start: { ...start, op_name: "renamed" } }]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ id, op_name: "renamed", output: '"kept"' }]);
  });

  test("a changed start of a running call replaces it", async () => {
    const projectId = newProject();
    const id = newId();
    await store.ingest([startPart({ project_id: projectId, id, op_name: "first" })]);
    await store.ingest([startPart({ project_id: projectId, id, op_name: "second" })]);
    expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ id, op_name: "second", running: 1 }]);
  });

  test("a changed started_at moves the call and leaves no double, in the future, now and long ago", async () => {
    for (const offset of [48n * hour, 0n, -48n * hour, -24n * 400n * hour]) {
      const projectId = newProject();
      const call = completePart({ project_id: projectId, started_at: nowUs() + offset });
      if (call.part !== "complete") throw new Error("not complete");
      await store.ingest([call]);
      const moved = { ...call.start, started_at: call.start.started_at + 7n * hour };
      await store.ingest([{ ...call, start: moved }]);
      // What memory no longer holds is found within the minute.
      await store.maintain();
      const seen = await visibleCalls(db.engine, projectId);
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
  const projectId = newProject();
  const times = [
    at("1899-12-31T23:59:59Z"),
    at("1900-01-01T00:00:00Z"),
    at("1969-12-31T23:59:59Z"),
    at("2299-12-31T23:59:59Z"),
    at("2300-01-01T00:00:00Z"),
  ];
  const rejected = await store.ingest(
    times.map((startedAt) => completePart({ project_id: projectId, started_at: startedAt }, { ended_at: startedAt })),
  );
  expect(rejected).toEqual([
    { index: 0, field: "started_at", message: "started_at must lie between the years 1900 and 2299" },
    { index: 4, field: "started_at", message: "started_at must lie between the years 1900 and 2299" },
  ]);
  const seen = await visibleCalls(db.engine, projectId);
  expect(seen.map(({ us }) => us)).toEqual(times.slice(1, 4).map(String));
});

test("steps that no column can hold are refused one by one", async () => {
  const projectId = newProject();
  const steps = [0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER];
  const starts = steps.map((wbRunStep) => startPart({ project_id: projectId, wb_run_step: wbRunStep }));
  const ends = steps.map((wbRunStepEnd) =>
    endPart({ project_id: projectId, id: newId(), wb_run_step_end: wbRunStepEnd }),
  );
  const refused = (field: string) => (index: number) => ({
    index,
    field,
    message: `${field} must be a whole number from 0 to 2^53 - 1`,
  });
  expect(await store.ingest([...starts, ...ends])).toEqual([
    ...[1, 2, 3].map(refused("wb_run_step")),
    ...[6, 7, 8].map(refused("wb_run_step_end")),
  ]);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(2);
});

test("ids of 256 characters are kept, longer, empty and broken ones are refused", async () => {
  const projectId = newProject();
  const ids = ["x".repeat(256), "y".repeat(257), "", "\ud800", "🧵 '\\\n\u0000"];
  const rejected = await store.ingest(ids.map((id) => startPart({ project_id: projectId, id, trace_id: "t" })));
  expect(rejected.map(({ index }) => index)).toEqual([1, 2, 3]);
  expect(new Set((await visibleCalls(db.engine, projectId)).map(({ id }) => id))).toEqual(new Set([ids[0], ids[4]]));
  await store.ingest([endPart({ project_id: projectId, id: ids[4] ?? "" })]);
  expect(await openSides(db.engine, projectId)).toHaveLength(1);
});

test("a batch over nine years is one batch", async () => {
  const projectId = newProject();
  const month = 30n * 24n * hour;
  const parts = Array.from({ length: 110 }, (_, index) =>
    completePart({ project_id: projectId, started_at: nowUs() - BigInt(index) * month }),
  );
  await untilTaken(parts);
  await untilTaken(parts);
  expect(await visibleCalls(db.engine, projectId)).toHaveLength(110);
});

/** As clients do: a commit of 110 parts on a slow disk may outlast a request's timeout, and is sent again. */
async function untilTaken(parts: CallPart[]): Promise<void> {
  await store.ingest(parts).catch((error: unknown) => {
    if (error instanceof HeddleError && error.code === "busy") return untilTaken(parts);
    throw error;
  });
}

test("the calls of one batch may depend on each other: the last part wins", async () => {
  const projectId = newProject();
  const start = callStart({ project_id: projectId });
  const end = callEnd({ project_id: projectId, id: start.id });
  await store.ingest([
    { part: "complete", start, end },
    { part: "end", end: { ...end, output: '"newer"' } },
    { part: "start", start: { ...start, op_name: "newer" } },
  ]);
  expect(await visibleCalls(db.engine, projectId)).toMatchObject([{ op_name: "newer", output: '"newer"' }]);
});
