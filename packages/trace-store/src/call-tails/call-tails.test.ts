import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { callEnd, completePart, endPart, newProject, startPart } from "../../test/call-parts.js";
import { testDatabase } from "../../test/store.js";
import { unreliableEngine } from "../../test/unreliable-engine.js";
import type { TraceStore } from "../store.js";
import type { CallsTailRequest, TailBatch, TailEvent, TailItem } from "./call-tails.js";

const db = testDatabase();
let store: TraceStore;

beforeAll(async () => {
  store = await db.open();
});
afterAll(() => db.drop());

type Request = Partial<CallsTailRequest> & { project_id: string };

async function* itemsOf(batches: AsyncIterable<TailBatch>): AsyncGenerator<TailItem, undefined, undefined> {
  for await (const { items } of batches) yield* items;
}

/** What has changed after a sequence, up to now. */
async function changesAfter(request: Request): Promise<TailEvent[]> {
  const events: TailEvent[] = [];
  const { signal } = new AbortController();
  const batches = store.callTails.tail({ preview_chars: 100, seconds: 0, ...request }, { signal });
  for await (const { event } of itemsOf(batches)) events.push(event);
  expect(events.at(-1)?.kind).toBe("caught_up");
  expect(events.map(({ seq }) => seq)).toEqual(
    events.map(({ seq }) => seq).toSorted((a, b) => (a < b ? -1 : Number(a > b))),
  );
  return events.slice(0, -1);
}

/** A tail in the background; `until` resolves when an event has come that fits. */
function follow(request: Request) {
  const leaving = new AbortController();
  const items: TailItem[] = [];
  const events: TailEvent[] = [];
  const reading = (async () => {
    const all = { preview_chars: 100, seconds: 3600, ...request };
    for await (const item of itemsOf(store.callTails.tail(all, { signal: leaving.signal }))) {
      items.push(item);
      events.push(item.event);
    }
  })().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  });
  return {
    items,
    events,
    async until(fits: (event: TailEvent) => boolean): Promise<TailEvent> {
      for (;;) {
        const found = events.find(fits);
        if (found !== undefined) return found;
        await delay(5);
      }
    },
    async leave() {
      leaving.abort(new Error("left"));
      await reading;
    },
  };
}

const note = { feedback_type: "wandb.note.1", payload: '{"note":"n"}', wb_user_id: "ann" };
const short = (event: TailEvent) => ("id" in event ? [event.kind, event.id] : [event.kind]);
const isAbout = (kind: TailEvent["kind"], id: string) => (event: TailEvent) =>
  event.kind === kind && "id" in event && event.id === id;

it("sends starts, ends, renames, replacements, feedback and deletions, each with the call as it is", async () => {
  const projectId = newProject();
  const tail = follow({ project_id: projectId, select: ["name", "status", "inputs.q"] });
  expect(await tail.until(({ kind }) => kind === "caught_up")).toBe(tail.events[0]);
  await store.ingest([startPart({ project_id: projectId, id: "a" })]);
  expect(await tail.until(isAbout("changed", "a"))).toMatchObject({
    call: { id: "a", status: "running", name: "answer", values: '{"inputs.q":"hi"}' },
  });
  await store.ingest([endPart({ project_id: projectId, id: "a" })]);
  await tail.until((event) => event.kind === "changed" && event.call?.status === "success");
  await store.calls.rename(projectId, "a", "renamed");
  const renamed = await tail.until((event) => event.kind === "changed" && event.call?.name === "renamed");
  expect("call" in renamed && renamed.call?.seq).toBe(renamed.seq);
  await store.ingest([{ part: "end", end: callEnd({ project_id: projectId, id: "a", exception: "boom" }) }]);
  await tail.until((event) => event.kind === "changed" && event.call?.status === "error");
  const { id } = await store.feedback.create({
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/a`,
    ...note,
  });
  expect(await tail.until(isAbout("feedback", "a"))).toMatchObject({ feedback_id: id });
  await store.calls.delete(projectId, ["a"], "ann");
  await tail.until(isAbout("removed", "a"));
  // The same out of the store, of each call the last change.
  await tail.leave();
  const first = tail.events[0]?.seq ?? 0n;
  expect((await changesAfter({ project_id: projectId, after: first })).map(short)).toEqual([["removed", "a"]]);
  expect(await changesAfter({ project_id: projectId, after: tail.events.at(-1)?.seq ?? 0n })).toEqual([]);
});

it("an end without its start is not a change, and calls of other projects are none", async () => {
  const [projectId, other] = [newProject(), newProject()];
  const tail = follow({ project_id: projectId });
  await tail.until(({ kind }) => kind === "caught_up");
  await store.ingest([
    endPart({ project_id: projectId, id: "late" }),
    completePart({ project_id: other, id: "foreign" }),
  ]);
  await store.ingest([completePart({ project_id: projectId, id: "last" })]);
  await tail.until(isAbout("changed", "last"));
  expect(tail.events.map(short)).toEqual([["caught_up"], ["changed", "last"]]);
  await store.ingest([startPart({ project_id: projectId, id: "late" })]);
  await tail.until(isAbout("changed", "late"));
  await tail.leave();
});

it("a call that does not match is named where it meets the conditions on what never changes", async () => {
  const projectId = newProject();
  const seq = (await store.callPages.page({ project_id: projectId, limit: 1, preview_chars: 0 })).seq;
  const start = (id: string, traceId: string) => startPart({ project_id: projectId, id, trace_id: traceId });
  await store.ingest([start("a", "t"), start("b", "t"), start("c", "u")]);
  await store.ingest([endPart({ project_id: projectId, id: "a", exception: "boom" })]);
  const failed = { $eq: [{ $getField: "summary.weave.status" }, { $literal: "error" }] };
  const early = { $eq: [{ $getField: "op_name" }, { $literal: "answer" }] };
  const filter = { trace_ids: ["t"] };
  const query = { $expr: { $and: [failed, early] } };
  const tail = follow({ project_id: projectId, filter, query });
  await tail.until(({ kind }) => kind === "caught_up");
  const stored = await changesAfter({ project_id: projectId, after: seq, filter, query });
  expect(stored.map(short)).toEqual([
    ["unmatched", "b"],
    ["changed", "a"],
  ]);
  await store.ingest([endPart({ project_id: projectId, id: "a" }), start("d", "u"), start("e", "t")]);
  await tail.until(isAbout("unmatched", "e"));
  expect(tail.events.map(short)).toEqual([["caught_up"], ["unmatched", "a"], ["unmatched", "e"]]);
  await tail.leave();
  const byId = await changesAfter({ project_id: projectId, after: seq, filter: { call_ids: ["c", "nothing"] } });
  expect(byId.map(short)).toEqual([["changed", "c"]]);
});

it("more than 10,000 changes are a gap, for one who comes late and one who does not read", async () => {
  const projectId = newProject();
  const seq = (await store.callPages.page({ project_id: projectId, limit: 1, preview_chars: 0 })).seq;
  const { signal } = new AbortController();
  const slow = store.callTails.tail({ project_id: projectId, preview_chars: 0, seconds: 3600 }, { signal });
  const reader = itemsOf(slow);
  expect((await reader.next()).value?.event.kind).toBe("caught_up");
  const many = (from: number) =>
    Array.from({ length: 5000 }, (_, n) => completePart({ project_id: projectId, id: `c${from + n}`, inputs: "{}" }));
  for (let from = 0; from < 25_000; from += 5000) await store.ingest(many(from));
  const [late, ...none] = await changesAfter({ project_id: projectId, after: seq });
  expect(late).toMatchObject({ kind: "gap", from: seq });
  expect(none).toEqual([]);
  let event: TailEvent | undefined;
  do event = (await reader.next()).value?.event;
  while (event?.kind !== "gap");
  const { calls } = await store.callPages.page({ project_id: projectId, limit: 1, preview_chars: 0 });
  expect(event.seq).toBeGreaterThanOrEqual(calls[0]?.seq ?? 0n);
  await reader.return(undefined);
});

it("whoever goes on after any complete sequence has seen everything in the end", async () => {
  const projectId = newProject();
  const stop = new AbortController();
  const writing = (async () => {
    for (let round = 0; !stop.signal.aborted; round++) {
      const ids = Array.from({ length: 20 }, (_, n) => `r${round}-${n}`);
      await Promise.all([
        store.ingest(ids.map((id) => startPart({ project_id: projectId, id }))),
        store.calls.rename(projectId, `r${round}-1`, "named"),
      ]);
      await Promise.all([
        store.ingest(ids.slice(5).map((id) => endPart({ project_id: projectId, id }))),
        round % 3 === 0 ? store.calls.delete(projectId, [`r${round}-0`], "ann") : undefined,
      ]);
    }
  })();
  const seen = new Map<string, string>();
  let position = 0n;
  for (let visits = 0; visits < 12; visits++) {
    if (visits === 11) {
      stop.abort();
      await writing;
    }
    const { signal } = new AbortController();
    const seconds = visits === 11 ? 0 : 3600;
    let left = 15 + visits * 5;
    const request = { project_id: projectId, after: position, preview_chars: 0, seconds, select: ["name", "status"] };
    for await (const { event, isComplete } of itemsOf(store.callTails.tail(request, { signal }))) {
      expect(event.kind).not.toBe("gap");
      if (event.kind === "changed") seen.set(event.id, `${event.call?.name} ${event.call?.status}`);
      if (event.kind === "removed") seen.delete(event.id);
      if (isComplete) position = event.seq;
      if (visits < 11 && --left === 0) break;
    }
  }
  const stored = new Map<string, string>();
  for await (const call of store.calls.query({ project_id: projectId })) {
    stored.set(call.id, `${call.display_name ?? call.op_name} ${call.status}`);
  }
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(stored));
  expect(stored.size).toBeGreaterThan(20);
});

it("readers who ask for the same get the same batch, and others one of their own", async () => {
  const projectId = newProject();
  const leaving = new AbortController();
  const open = (more: Partial<CallsTailRequest> = {}) => {
    const request = { project_id: projectId, preview_chars: 0, seconds: 3600, ...more };
    const batches = store.callTails.tail(request, { signal: leaving.signal });
    return batches[Symbol.asyncIterator]();
  };
  const readers = [open(), open(), open({ filter: { trace_ids: ["t"] } }), open({ select: ["name"] })];
  const next = async () => await Promise.all(readers.map(async (reader) => (await reader.next()).value as TailBatch));
  expect((await next()).map(({ items }) => items.map(({ event }) => short(event)))).toEqual(
    readers.map(() => [["caught_up"]]),
  );
  const batches = next();
  // Until all of them wait for a change.
  await delay(20);
  await store.ingest([completePart({ project_id: projectId, id: "a", trace_id: "t" })]);
  const [first, same, filtered, selected] = await batches;
  expect(first?.items.map(({ event }) => short(event))).toEqual([["changed", "a"]]);
  expect(same).toBe(first);
  expect(filtered).not.toBe(first);
  expect(selected).not.toBe(first);
  leaving.abort(new Error("left"));
  await Promise.allSettled(readers.map(async (reader) => await reader.return?.()));
});

it("readers who ask for the same get the same of many changes, too", async () => {
  const projectId = newProject();
  const leaving = new AbortController();
  // Rows of which few are read at once.
  const select = Array.from({ length: 20 }, (_, n) => `inputs.q${n}`);
  const request = { project_id: projectId, preview_chars: 10_000, seconds: 3600, select };
  const open = () => store.callTails.tail(request, { signal: leaving.signal })[Symbol.asyncIterator]();
  const readers = [open(), open(), open()];
  const next = async () => await Promise.all(readers.map(async (reader) => (await reader.next()).value as TailBatch));
  await next();
  const first = next();
  await delay(20);
  const ids = Array.from({ length: 60 }, (_, n) => `many${n}`);
  await store.ingest(ids.map((id) => completePart({ project_id: projectId, id })));
  const rounds = [await first, await next(), await next()];
  for (const batches of rounds) expect(new Set(batches).size).toBe(1);
  const seen = rounds.flatMap(([batch]) => batch?.items ?? []);
  expect(seen.map(({ event }) => String(short(event)[1])).toSorted()).toEqual(ids.toSorted());
  expect(seen.map(({ isComplete }) => isComplete)).toEqual(ids.map((_, at) => at === 59));
  leaving.abort(new Error("left"));
  await Promise.allSettled(readers.map(async (reader) => await reader.return?.()));
});

it("refuses a sequence of the future", async () => {
  const after = 99_999_999_999_999_999_999n;
  await expect(changesAfter({ project_id: newProject(), after })).rejects.toMatchObject({
    code: "unprocessable",
    loc: ["after"],
  });
});

it("a write whose outcome is unknown is seen once it is known, and nothing is said to be complete before", async () => {
  const broken = unreliableEngine();
  const other = testDatabase();
  const unreliable = await other.open({ wrapEngine: broken.wrap });
  const projectId = newProject();
  const leaving = new AbortController();
  const events: TailEvent[] = [];
  const request = { project_id: projectId, preview_chars: 0, seconds: 3600 };
  const reading = (async () => {
    const batches = unreliable.callTails.tail(request, { signal: leaving.signal });
    for await (const { event } of itemsOf(batches)) events.push(event);
  })().catch(() => {});
  const seen = async (kind: TailEvent["kind"]) => {
    while (!events.some((event) => event.kind === kind)) await delay(5);
  };
  await seen("caught_up");
  broken.breakNext("calls", true);
  await expect(unreliable.ingest([completePart({ project_id: projectId, id: "a" })])).rejects.toThrow("broken");
  const { seq } = await unreliable.callPages.page({ project_id: projectId, limit: 1, preview_chars: 0 });
  await seen("changed");
  expect(events.find(({ kind }) => kind === "changed")?.seq).toBeGreaterThan(seq);
  broken.breakNext("feedback", true);
  const feedback = { ...note, project_id: projectId, weave_ref: `weave:///${projectId}/call/a` };
  await expect(unreliable.feedback.create(feedback)).rejects.toThrow("broken");
  await seen("feedback");
  leaving.abort(new Error("left"));
  await reading;
  await other.drop();
});
