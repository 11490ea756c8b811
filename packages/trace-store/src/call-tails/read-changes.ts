import { locateCalls } from "../call-reading/locate.js";
import type { PageRow } from "../call-reading/row-source.js";
import { fetchWhere } from "../call-reading/statements.js";
import { readRows } from "../call-pages/read-rows.js";
import type { RowsSource } from "../call-pages/read-rows.js";
import type { CallPageRow } from "../call-pages/row-columns.js";
import type { Change } from "../changes/change.js";
import { knownRows } from "./known-rows.js";
import { compileCalls, findsAll } from "../query/call-query.js";
import type { CallPlan, CallsById } from "../query/call-query.js";
import { assumedBytes } from "./tail-selection.js";
import type { TailSelection } from "./tail-selection.js";

/** What a tail says of one call. */
export interface CallEvent {
  /** Of the change. */
  seq: bigint;
  kind: "changed" | "unmatched" | "removed" | "feedback";
  /** Of the call. */
  id: string;
  feedback_id?: string;
  /** As it is now. */
  call?: CallPageRow;
}

/** What a tail says of some changes, in their order. Of several changes of a call the last one counts. */
export async function readChanges(
  source: RowsSource,
  selection: TailSelection,
  changes: readonly Change[],
): Promise<CallEvent[]> {
  const { ids: only, readsFeedback } = selection;
  const wanted = changes.filter(({ id }) => only?.has(id) !== false);
  const removed = new Map(wanted.filter(({ kind }) => kind === "removed").map((change) => [change.id, change]));
  const changed = new Map<string, Change>();
  const feedback = new Map<string, Change>();
  for (const change of wanted) {
    if (change.kind === "removed" || removed.has(change.id)) continue;
    if (change.kind === "feedback") feedback.set(change.feedback_id ?? "", change);
    if (change.kind === "call" || readsFeedback) {
      changed.set(change.id, { ...change, started_at: change.started_at ?? changed.get(change.id)?.started_at });
    }
  }
  const calls = new Map([...feedback.values(), ...changed.values()].map((change) => [change.id, change]));
  const isChanged = (id: string) => changed.has(id);
  const known = knownRows(source.scope(), selection, [...calls.values()]);
  const { rows, matching, near } =
    known === undefined
      ? await readStored(source, selection, [...calls.values()], isChanged)
      : { rows: known, matching: known, near: known };

  const events: CallEvent[] = [];
  for (const { id, version: seq } of removed.values()) events.push({ seq, kind: "removed", id });
  for (const { id, version: seq } of changed.values()) {
    const call = rows.get(id);
    if (call !== undefined) events.push({ seq, kind: "changed", id, call });
    else if (near.has(id)) events.push({ seq, kind: "unmatched", id });
  }
  for (const [feedbackId, { id, version: seq }] of feedback) {
    if (rows.has(id) || matching.has(id) || near.has(id))
      events.push({ seq, kind: "feedback", id, feedback_id: feedbackId });
  }
  return events.toSorted((a, b) => (a.seq < b.seq ? -1 : Number(a.seq > b.seq)));
}

interface Read {
  rows: ReadonlyMap<string, CallPageRow>;
  /** The calls that match. */
  matching: ReadonlyMap<string, unknown>;
  /** Those that do not, and meet the conditions on what does not change. */
  near: ReadonlyMap<string, unknown>;
}

/** What the tables have of calls; rows of those that `isChanged` says. */
async function readStored(
  source: RowsSource,
  { plan, stable, shape }: TailSelection,
  calls: readonly Change[],
  isChanged: (id: string) => boolean,
): Promise<Read> {
  const matching = await findKeys(source, plan, calls);
  const others = calls.filter(({ id }) => !matching.has(id));
  const near = stable === undefined ? new Map<string, PageRow>() : await findKeys(source, stable, others);
  const rows = new Map<string, CallPageRow>();
  const toRead = [...matching.values()].filter(({ id }) => isChanged(id));
  for await (const row of readRows(source, toRead, shape)) rows.set(row.id, row);
  return { rows, matching, near };
}

/** Those of the calls that match a plan, by id. */
async function findKeys(source: RowsSource, plan: CallPlan, calls: readonly Change[]): Promise<Map<string, PageRow>> {
  if (calls.length === 0) return new Map();
  const known = calls.every(({ started_at }) => started_at !== undefined);
  // The rows themselves show which of them are there.
  if (known && findsAll(plan)) {
    return new Map(
      calls.map(({ id, version, started_at = 0n }) => [id, { id, version, started_at, bytes: assumedBytes }]),
    );
  }
  const where = await locate(source, calls);
  if (where.ids.length === 0) return new Map();
  type Row = { id: string; version: string; started_us: string; bytes: string };
  const select = ["id", "toUnixTimestamp64Micro(started_at) AS started_us", "size_bytes AS bytes"];
  const found = await fetchWhere<Row>({ ...source, select }, (p) => compileCalls(plan, source.scope(), p, where));
  return new Map(
    Array.from(found.values(), ({ id, version, started_us, bytes }) => [
      id,
      { id, version: BigInt(version), started_at: BigInt(started_us), bytes: Number(bytes) },
    ]),
  );
}

/** Where the calls are, for those of which the change does not say it. */
async function locate({ engine, scope, signal }: RowsSource, calls: readonly Change[]): Promise<CallsById> {
  const ids = calls.map(({ id }) => id);
  const times = calls.flatMap(({ started_at }) => started_at ?? []);
  const unknown = calls.filter(({ started_at }) => started_at === undefined).map(({ id }) => id);
  if (unknown.length === 0) return { ids, started_at: [...new Set(times)] };
  const located = await locateCalls(engine, scope, unknown, { signal });
  if (located.started_at === undefined) return { ids };
  const gone = new Set(unknown);
  for (const id of located.ids) gone.delete(id);
  return { ids: ids.filter((id) => !gone.has(id)), started_at: [...new Set([...times, ...located.started_at])] };
}
