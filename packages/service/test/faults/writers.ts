import { setTimeout as delay } from "node:timers/promises";
import type { CallEntry } from "./ledger.js";
import { writeContents } from "./content-writer.js";
import { writeFeedback } from "./feedback-writer.js";
import { writeQueue } from "./queue-writer.js";
import type { Writing } from "./writing.js";
import { isSentAgain } from "./wire.js";

/** How a client writes; each runs as one client after another request. */
const kinds: Record<string, (writing: Writing) => Promise<void>> = {
  "single calls": singleCalls,
  batches,
  "split start and end": splitCalls,
  "ends first": endsFirst,
  OTLP: spans,
  "sent again": sentAgain,
  "renames and deletions": changes,
  "objects, tables, files, prices": writeContents,
  feedback: writeFeedback,
  "annotation queues": writeQueue,
};

/** Runs a client of every kind until `stopped`. */
export async function writeAll(writing: Writing): Promise<void> {
  await Promise.all(Object.values(kinds).map((kind) => kind(writing)));
}

/** How many kinds of writing there are. */
export const kindCount = Object.keys(kinds).length;

async function singleCalls(writing: Writing): Promise<void> {
  while (!writing.stopped()) {
    const call = newCall(writing, "single calls", true);
    await send(writing, completePath(writing), { batch: [call.complete()] }, () => call.ack("start", "end"));
  }
}

async function batches(writing: Writing): Promise<void> {
  while (!writing.stopped()) {
    const calls = Array.from({ length: 5 + Math.floor(writing.random() * 20) }, () =>
      newCall(writing, "batches", true),
    );
    const batch = calls.flatMap((call) => [
      { mode: "start", req: { start: call.start() } },
      { mode: "end", req: { end: call.end() } },
    ]);
    await send(writing, "/call/upsert_batch", { batch }, () => {
      for (const call of calls) call.ack("start", "end");
    });
  }
}

/** Several calls run at a time, as in a program that traces; an end is only sent once its start is acknowledged. */
async function splitCalls(writing: Writing): Promise<void> {
  const running: NewCall[] = [];
  while (!writing.stopped()) {
    const call = newCall(writing, "split start and end", false);
    const started = await send(writing, "/call/start", { start: call.start() }, () => call.ack("start"));
    if (started) running.push(call);
    if (running.length > 4) {
      const [oldest] = running.splice(Math.floor(writing.random() * running.length), 1);
      if (oldest) await send(writing, "/call/end", { end: oldest.end() }, () => oldest.ack("end"));
    }
  }
}

async function endsFirst(writing: Writing): Promise<void> {
  const ended: NewCall[] = [];
  while (!writing.stopped()) {
    const call = newCall(writing, "ends first", false);
    await send(writing, "/call/end", { end: call.end() }, () => call.ack("end"));
    ended.push(call);
    if (ended.length > 3) {
      const first = ended.shift();
      if (first) await send(writing, "/call/start", { start: first.start() }, () => first.ack("start"));
    }
  }
}

async function spans(writing: Writing): Promise<void> {
  while (!writing.stopped()) {
    const calls = Array.from({ length: 3 }, () => newCall(writing, "OTLP", true, hex(writing, 16)));
    const spansOf = calls.map((call) => call.span(hex(writing, 32)));
    const body = { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ scope: {}, spans: spansOf }] }] };
    const headers = { project_id: writing.project_id };
    await send(writing, "/otel/v1/traces", body, () => calls.forEach((call) => call.ack("start", "end")), headers);
  }
}

/** What was not acknowledged is sent until it is, and then once more: the impatient client of a proxy that retries. */
async function sentAgain(writing: Writing): Promise<void> {
  while (!writing.stopped()) {
    const [whole, late, old] = [true, false, true].map((w) => newCall(writing, "sent again", w));
    if (!whole || !late || !old) return;
    // Long before what the service keeps in memory.
    old.startedAt(Date.now() - 50 * 3_600_000);
    const batch = [whole, old].flatMap((call) => [
      { mode: "start", req: { start: call.start() } },
      { mode: "end", req: { end: call.end() } },
    ]);
    const first = { batch: [...batch, { mode: "start", req: { start: late.start() } }] };
    const second = { batch: [...batch, { mode: "end", req: { end: late.end() } }] };
    for (const [body, ack] of [
      [first, () => [whole.ack("start", "end"), old.ack("start", "end"), late.ack("start")]],
      [second, () => late.ack("end")],
      [first, () => undefined],
    ] as const) {
      while (!(await send(writing, "/call/upsert_batch", body, ack))) continue;
    }
  }
}

/** Every change is sent until it is acknowledged, so that it may be made twice, and must be seen once. */
async function changes(writing: Writing): Promise<void> {
  const { ledger, project_id } = writing;
  while (!writing.stopped()) {
    const [renamed, deleted] = [
      newCall(writing, "renames and deletions", true),
      newCall(writing, "renames and deletions", true),
    ];
    const body = { batch: [renamed.complete(), deleted.complete()] };
    const ack = () => [renamed, deleted].forEach((call) => call.ack("start", "end"));
    while (!(await send(writing, completePath(writing), body, ack))) continue;
    const name = `name ${renamed.id}`;
    while (!(await send(writing, "/call/update", { project_id, call_id: renamed.id, display_name: name }, () => {})))
      continue;
    ledger.contents.push({
      kind: "renames and deletions",
      what: `the name of ${renamed.id}`,
      expected: name,
      read: async (from) =>
        (await from.ask<{ call: { display_name?: string } }>("/call/read", { project_id, id: renamed.id })).call
          .display_name,
    });
    const gone = { project_id, call_ids: [deleted.id] };
    deleted.delete("sent");
    while (!(await send(writing, "/calls/delete", gone, () => deleted.delete("acknowledged")))) continue;
  }
}

/** Sends once. A refused or broken request changes nothing in the ledger: it may or may not have been stored. */
async function send(
  { wire }: Writing,
  path: string,
  body: unknown,
  ack: () => unknown,
  headers?: Record<string, string>,
): Promise<boolean> {
  const { status, text } = await wire.post(path, body, headers);
  if (status === 200) {
    if (/"error"|"errors"|rejectedSpans/.test(text)) throw new Error(`${path} refused an item: ${text}`);
    ack();
    return true;
  }
  if (!isSentAgain(status)) throw new Error(`${path} responded ${status}: ${text}`);
  await delay(50);
  return false;
}

const completePath = ({ project_id }: Writing): string => `/v2/${project_id}/calls/complete`;

interface NewCall {
  id: string;
  start(): object;
  end(): object;
  complete(): object;
  span(trace_id: string): object;
  startedAt(ms: number): void;
  ack(...sides: ("start" | "end")[]): void;
  delete(state: "sent" | "acknowledged"): void;
}

/** A call that is not sent yet; what is taken from it is entered in the ledger as sent. */
function newCall({ ledger, project_id, random }: Writing, kind: string, whole: boolean, id = uuid(random)): NewCall {
  const entry: CallEntry = { kind, whole };
  let started = Date.now();
  const iso = (ms: number) => new Date(ms).toISOString();
  const inputs = { text: "in ".repeat(1 + Math.floor(random() * 200)), id };
  const output = { text: "out ".repeat(1 + Math.floor(random() * 200)), id };
  ledger.calls.set(id, entry);
  const start = () => {
    entry.start ??= { value: inputs, acked: false };
    return { project_id, id, trace_id: id, op_name: "work", started_at: iso(started), attributes: { kind }, inputs };
  };
  const end = () => {
    entry.end ??= { value: output, acked: false };
    return { project_id, id, ended_at: iso(started + 1000), output, summary: {} };
  };
  return {
    id,
    start,
    end,
    delete: (state) => void (entry.deletion = state),
    complete: () => ({ ...start(), ...end() }),
    span(traceId) {
      entry.start = { value: { "input.value": inputs }, acked: false };
      entry.end = { value: { "output.value": output }, acked: false };
      const [startTimeUnixNano, endTimeUnixNano] = [`${started}000000`, `${started + 1000}000000`];
      const attribute = (side: string, value: unknown) => [
        { key: `${side}.value`, value: { stringValue: JSON.stringify(value) } },
        { key: `${side}.mime_type`, value: { stringValue: "application/json" } },
      ];
      const attributes = [...attribute("input", inputs), ...attribute("output", output)];
      return { traceId, spanId: id, name: "work", kind: 1, startTimeUnixNano, endTimeUnixNano, attributes };
    },
    startedAt: (ms) => (started = ms),
    ack(...sides) {
      for (const side of sides) {
        const sent = entry[side];
        if (sent === undefined) throw new Error(`the ${side} of ${id} was never sent`);
        sent.acked = true;
      }
    },
  };
}

function hex({ random }: Pick<Writing, "random">, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");
}

function uuid(random: () => number): string {
  const digits = hex({ random }, 30);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(12, 15)}-8${digits.slice(15, 18)}-${digits.slice(18)}`;
}
