import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import { afterAll, expect, it } from "vitest";
import { completePart, endPart, newProject, nowUs, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import type { Engine } from "../engine/engine.js";
import type { CallsTailRequest, TailEvent } from "./call-tails.js";

const db = testDatabase();
afterAll(() => db.drop());

/** Without payloads. */
const select = ["trace_id", "parent_id", "thread_id", "turn_id", "op_name", "name", "status", "ended_at", "latency_ms"];

/** Nobody can read tables while this is true. */
let isDown = false;
const wrapEngine = (engine: Engine): Engine => ({
  ...engine,
  rows: async (statement, options) => {
    if (isDown) throw new HeddleError("busy", "broken by the test");
    return await engine.rows(statement, options);
  },
});
const store = await db.open({ wrapEngine });

function follow(request: Partial<CallsTailRequest> & { project_id: string }) {
  const leaving = new AbortController();
  const events: TailEvent[] = [];
  const all = { preview_chars: 0, seconds: 3600, select, ...request };
  const reading = (async () => {
    for await (const { items } of store.callTails.tail(all, { signal: leaving.signal }))
      events.push(...items.map(({ event }) => event));
  })();
  reading.catch(() => undefined);
  return {
    events,
    async until(count: number): Promise<TailEvent[]> {
      while (events.filter(({ kind }) => kind !== "caught_up").length < count) await delay(5);
      return events.filter(({ kind }) => kind !== "caught_up");
    },
    async leave() {
      leaving.abort(new Error("left"));
      await reading.catch(() => undefined);
    },
  };
}

/** What has changed after a sequence, out of the tables. */
async function storedAfter(request: Partial<CallsTailRequest> & { project_id: string }): Promise<TailEvent[]> {
  const tail = follow({ ...request, seconds: 0 });
  while (tail.events.at(-1)?.kind !== "caught_up") await delay(5);
  await tail.leave();
  return tail.events.slice(0, -1);
}

it("what whoever writes a call knows is sent without a look into the tables, and is what they have", async () => {
  const projectId = newProject();
  const { seq } = await store.callPages.page({ project_id: projectId, limit: 1, preview_chars: 0 });
  const filters = [
    {},
    { trace_ids: ["t"] },
    { trace_roots_only: true },
    { op_names: ["o\tp\\\u00e9"] },
    { call_ids: ["e"] },
  ];
  const tails = filters.map((filter) => follow({ project_id: projectId, filter }));
  for (const { events } of tails) while (events.length === 0) await delay(5);
  const startedAt = nowUs() - 5_000_000n;
  const start = (id: string, more: object = {}) => ({
    project_id: projectId,
    id,
    trace_id: "t",
    started_at: startedAt,
    ...more,
  });
  const parts = [
    completePart(start("a", { op_name: "o\tp\\\u00e9", display_name: "n\\N\n", parent_id: "e", thread_id: "th" })),
    completePart(start("b", { trace_id: "u", turn_id: "tu" }), { exception: "boom" }),
    startPart(start("c", { trace_id: "v", wb_user_id: "ann" })),
    completePart(start("d", { display_name: "" }), { ended_at: startedAt + 1_234_567n }),
    startPart(start("e", { op_name: `weave:///${projectId}/op/answer:v1` })),
    // Of names that long nothing is kept.
    completePart(start("f", { trace_id: "w", op_name: "o".repeat(3000) })),
  ];
  await store.ingest(parts.slice(0, 5));
  isDown = true;
  const sent = await Promise.all(tails.map(async (tail, at) => await tail.until([5, 3, 4, 1, 1][at] ?? 0)));
  isDown = false;
  await store.ingest([endPart({ project_id: projectId, id: "e" }), ...parts.slice(5)]);
  await Promise.all(tails.map(async (tail, at) => await tail.until([7, 4, 6, 1, 2][at] ?? 0)));
  for (const [at, filter] of filters.entries()) {
    const stored = await storedAfter({ project_id: projectId, filter, after: seq });
    const last = new Map(
      [...(tails[at]?.events ?? [])].flatMap((event) => ("call" in event ? [[event.id, event]] : [])),
    );
    const unordered = (events: Iterable<TailEvent>) =>
      [...events].toSorted((a, b) => ("id" in a && "id" in b ? a.id.localeCompare(b.id) : 0));
    expect(unordered(last.values())).toEqual(unordered(stored));
  }
  expect(sent[0]?.map((event) => ("call" in event ? event.call?.status : "")).toSorted()).toEqual([
    "error",
    "running",
    "running",
    "success",
    "success",
  ]);
  await Promise.all(tails.map(async (tail) => await tail.leave()));
});

it("calls that are deleted, have expired or were renamed are not shown as their writer knows them", async () => {
  const projectId = newProject();
  const tail = follow({ project_id: projectId });
  while (tail.events.length === 0) await delay(5);
  await store.ingest([
    completePart({ project_id: projectId, id: "gone" }),
    startPart({ project_id: projectId, id: "named" }),
  ]);
  await store.calls.delete(projectId, ["gone"], "ann");
  await store.ingest([completePart({ project_id: projectId, id: "gone" })]);
  await store.calls.rename(projectId, "named", "by hand");
  await store.ingest([endPart({ project_id: projectId, id: "named" })]);
  const isEnd = (event: TailEvent) =>
    event.kind === "changed" && event.id === "named" && event.call?.status === "success";
  while (!tail.events.some(isEnd)) await delay(5);
  expect(tail.events.find(isEnd)).toMatchObject({ call: { name: "by hand" } });
  const ofGone = tail.events.flatMap((event) => ("id" in event && event.id === "gone" ? [event.kind] : []));
  expect(ofGone.slice(ofGone.indexOf("removed"))).toEqual(["removed"]);
  await tail.leave();
});
