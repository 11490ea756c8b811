import type { CallEntry, Ledger } from "./ledger.js";
import type { Wire } from "./wire.js";

export interface Verdict {
  /** Acknowledged sides of calls, and acknowledged contents. */
  acked: number;
  /** Calls and contents with anything acknowledged that were looked at; the others are, too, and may be there or not. */
  checked: number;
  missing: string[];
  doubled: string[];
  /** Seen with one side of two that travelled together, or with a payload that was never sent. */
  wrong: string[];
}

interface WireCall {
  id: string;
  inputs: unknown;
  output: unknown;
  started_at: string;
  ended_at: string | null;
  attributes: unknown;
}

/** Reads everything back through the API and compares it with the ledger. */
export async function check(wire: Wire, projectId: string, ledger: Ledger): Promise<Verdict> {
  const acked = [...ledger.acked().values()].reduce((sum, n) => sum + n, 0);
  const verdict: Verdict = { acked, checked: 0, missing: [], doubled: [], wrong: [] };
  const seen = new Map<string, WireCall>();
  for (const call of await wire.rows<WireCall>("/calls/stream_query", { project_id: projectId })) {
    if (seen.has(call.id)) verdict.doubled.push(`${call.id} in the list`);
    seen.set(call.id, call);
  }
  const { count } = await wire.ask<{ count: number }>("/calls/query_stats", { project_id: projectId });
  if (count > seen.size) verdict.doubled.push(`${count - seen.size} calls in the count`);
  if (count < seen.size) verdict.missing.push(`${seen.size - count} calls in the count`);

  const counted = await countedIn(wire, projectId, [...seen.values()]);
  if (counted > seen.size) verdict.doubled.push(`${counted - seen.size} calls in the statistics`);
  if (counted < seen.size) verdict.missing.push(`${seen.size - counted} calls in the statistics`);

  for (const [id, entry] of ledger.calls) {
    if (entry.start?.acked === true || entry.end?.acked === true) verdict.checked += 1;
    judge(`${entry.kind} ${id}`, entry, seen.get(id), verdict);
    seen.delete(id);
  }
  for (const id of seen.keys()) verdict.wrong.push(`${id} was never sent`);
  const contents = ledger.contents.values();
  const readEach = async () => {
    for (const { kind, what, read, expected } of contents) {
      verdict.checked += 1;
      const found = await read(wire);
      if (!same(found, expected)) verdict.missing.push(`${kind} ${what}: ${JSON.stringify(found).slice(0, 200)}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, readEach));
  return verdict;
}

/** How many calls the statistics count, from the first of these to the last. */
async function countedIn(wire: Wire, projectId: string, calls: readonly WireCall[]): Promise<number> {
  const times = calls.map((call) => Date.parse(call.started_at));
  if (times.length === 0) return 0;
  const [first, last] = times.reduce(([least, most], ms) => [Math.min(least, ms), Math.max(most, ms)], [Infinity, 0]);
  const { call_buckets: buckets } = await wire.ask<{ call_buckets: { count: number }[] }>("/calls/stats", {
    project_id: projectId,
    start: new Date(first).toISOString(),
    end: new Date(last + 1).toISOString(),
    call_metrics: [{ metric: "latency_ms", aggregations: ["avg"] }],
  });
  return buckets.reduce((sum, { count }) => sum + count, 0);
}

function judge(name: string, entry: CallEntry, call: WireCall | undefined, verdict: Verdict): void {
  const { start, end, whole, deletion } = entry;
  if (deletion === "acknowledged") {
    if (call !== undefined) verdict.wrong.push(`${name} is shown and was deleted`);
    return;
  }
  if (call === undefined) {
    // An end whose start was not acknowledged is kept, and not shown.
    if (start?.acked === true && deletion === undefined) verdict.missing.push(name);
    return;
  }
  const ended = call.ended_at !== null;
  if (start === undefined) verdict.wrong.push(`${name} is shown and was never started`);
  else if (!carries(call, "inputs", start.value)) verdict.wrong.push(`${name} has other inputs`);
  if (end?.acked === true && !ended) verdict.missing.push(`${name}: its end`);
  if (ended && end === undefined) verdict.wrong.push(`${name} was never ended`);
  if (ended && end !== undefined && !carries(call, "output", end.value))
    verdict.wrong.push(`${name} has another output`);
  if (whole && !ended) verdict.wrong.push(`${name} is shown without its end`);
}

function carries(call: WireCall, column: "inputs" | "output", value: unknown): boolean {
  return same(call[column], value);
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
