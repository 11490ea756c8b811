import type { Engine } from "../../engine/engine.js";
import type { IngestContext } from "../context.js";
import { betweenSteps } from "./between-steps.js";
import type { IngestState } from "../memory/state.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { WrittenCall } from "../memory/call-group.js";
import { knownCall } from "../../stored-calls/known-call.js";
import { findStored } from "./find-stored.js";
import type { CallLookup } from "./find-stored.js";
import { insertRows } from "./insert-rows.js";
import type { PendingRow } from "./insert-rows.js";
import { callRowColumns, hiddenRowColumns, nameRowColumns, nameRow, partRowColumns } from "../../stored-calls/rows.js";
import { planWrites, sidesOf } from "./plan-writes.js";
import type { CallWrites, IncomingCall, StoredState } from "./plan-writes.js";
import { findOwnUsage } from "./own-usage.js";
import type { ChangedTrace, SettledCall } from "./own-usage.js";
import { hasEnd, hasStart } from "../memory/open-sides.js";

export interface NameChange extends CallKey {
  display_name: string;
}

interface PendingCall extends PendingRow {
  key: string;
}

interface PlannedCall extends CallKey {
  key: string;
  writes: CallWrites;
}

/**
 * One commit: looks up what is stored, merges, writes, and resolves when all of it is on disk, with the calls that the
 * engine cannot take. Complete rows go first, so that a crash shows a call twice at worst, never not at all.
 *
 * When it throws after the first insert the outcome is unknown, and `state.needsRecovery` stays set until a recovery.
 */
export async function writeCalls(
  context: IngestContext,
  calls: ReadonlyMap<string, IncomingCall & CallLookup>,
  names: readonly NameChange[] = [],
  changedTraces: readonly ChangedTrace[] = [],
): Promise<Map<string, string>> {
  const { state } = context;
  try {
    return await writeCommit(context, calls, names, changedTraces);
  } catch (error) {
    // What memory knows of usage may be ahead of what is stored.
    state.usage.forgetAll();
    throw error;
  }
}

async function writeCommit(
  context: IngestContext,
  incoming: ReadonlyMap<string, IncomingCall & CallLookup>,
  names: readonly NameChange[],
  changedTraces: readonly ChangedTrace[],
): Promise<Map<string, string>> {
  const { engine, state } = context;
  const stored = await findStored(engine, state, incoming);
  await betweenSteps(incoming.size);
  const usage = await findOwnUsage(context, settledCalls(incoming, stored), changedTraces);
  await betweenSteps(incoming.size);
  const above = new Map<string, CallLookup>();
  for (const [key, { call }] of usage.changed) if (!incoming.has(key)) above.set(key, call);
  let calls = incoming;
  if (above.size > 0) {
    for (const [key, found] of await findStored(engine, state, above)) stored.set(key, found);
    const alone = [...above].map(([key, { project_id, id }]) => [key, { project_id, id }] as const);
    calls = new Map([...incoming, ...alone]);
  }
  const version = context.clock.next();
  const planned: PlannedCall[] = [];
  const closing: CallKey[] = [];
  for (const [key, call] of calls) {
    const before = stored.get(key) ?? {};
    const own = usage.own.get(key) ?? usage.changed.get(key)?.own;
    const writes = planWrites(call, before, version, own && { own, changed: usage.changed.has(key) });
    const plannedCall = { key, project_id: call.project_id, id: call.id, writes };
    planned.push(plannedCall);
    if (writes.complete !== undefined && (before.start !== undefined || before.call !== undefined)) {
      closing.push(plannedCall);
    }
  }
  for (const { project_id } of names) {
    state.named.add(project_id);
  }
  await betweenSteps(calls.size);

  state.beginClosing(closing);
  const refused = await markForRecoveryOnError(state, insertAll(context, planned, names, version));
  state.endClosing();
  const written = planned.filter(({ key }) => !refused.has(key));
  for (const call of written) remember(state, call, version);
  const whole = written.map((call) => writtenCall(call, version)).filter((call) => call !== undefined);
  state.newestCalls.add(whole);
  state.rows += whole.length;
  for (const call of written) publish(context, call, version);
  for (const { project_id, id } of names) context.changes.publish(project_id, { kind: "call", id, version });
  usage.remember(refused);
  return refused;
}

/** The calls of a commit as they are after it; ends without a start belong to no trace yet. */
function settledCalls(
  calls: ReadonlyMap<string, IncomingCall & CallLookup>,
  stored: ReadonlyMap<string, StoredState>,
): SettledCall[] {
  const settled: SettledCall[] = [];
  for (const [key, call] of calls) {
    const before = stored.get(key);
    const { start, end } = before === undefined ? call : sidesOf(call, before);
    if (start === undefined) continue;
    const wasComplete = before?.call !== undefined;
    settled.push({ key, project_id: call.project_id, id: call.id, start, end, wasComplete });
  }
  return settled;
}

async function insertAll(
  { engine }: IngestContext,
  planned: readonly PlannedCall[],
  names: readonly NameChange[],
  version: bigint,
): Promise<Map<string, string>> {
  const refused = new Map<string, string>();
  const complete: PendingCall[] = [];
  for (const call of planned) if (call.writes.complete) complete.push(pending(call, call.writes.complete));
  for (const { row, message } of await insertRows(engine, "calls", callRowColumns, complete, version)) {
    refused.set(row.key, message);
  }
  const rest = refused.size === 0 ? planned : planned.filter(({ key }) => !refused.has(key));
  const parts = rest.flatMap((call) => call.writes.parts.map((bytes) => pending(call, bytes)));
  const hidden = rest.flatMap(({ writes }) => writes.hidden?.row ?? []);
  const nameRows = names.map((name) => nameRow(name, name.display_name, version));
  const [refusedParts] = await awaitAll([
    insertRows(engine, "call_parts", partRowColumns, parts, version),
    insertTrusted(engine, "call_hidden", hiddenRowColumns, hidden),
    insertTrusted(engine, "call_names", nameRowColumns, nameRows),
  ]);
  for (const { row, message } of refusedParts) refused.set(row.key, message);
  return refused;
}

/** Inserts of unknown outcome make a recovery necessary. */
export async function markForRecoveryOnError<T>(state: IngestState, inserts: Promise<T>): Promise<T> {
  try {
    return await inserts;
  } catch (error) {
    state.needsRecovery = true;
    throw error;
  }
}

function pending({ key, project_id, id }: PlannedCall, bytes: Uint8Array): PendingCall {
  return { key, project_id, id, bytes };
}

/** Inserts rows whose values the engine never refuses: none of them come from a user unchecked. */
export async function insertTrusted(
  engine: Engine,
  table: string,
  columns: readonly string[],
  rows: readonly Uint8Array[],
): Promise<void> {
  if (rows.length > 0) await engine.insert(table, columns, rows);
}

/** As Promise.all, but waits for all of them: no insert may still run when a recovery begins. */
async function awaitAll<T extends readonly unknown[]>(work: {
  [Index in keyof T]: Promise<T[Index]>;
}): Promise<T> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

/** What was written of a call that readers can see: an end without a start is not. */
function publish({ changes }: IngestContext, { project_id, id, writes }: PlannedCall, version: bigint): void {
  if (!changes.isFollowed(project_id)) return;
  const { complete, parts, sides } = writes;
  const { start, end } = sides;
  if (start === undefined || (complete === undefined && parts.length === 0)) return;
  // A complete row that is there already has an earlier version.
  const known = complete === undefined && end !== undefined ? undefined : knownCall(start, end);
  changes.publish(project_id, { kind: "call", id, version, started_at: start.started_at, known });
}

/** What is kept of a call; undefined where no complete row of it was written. */
function writtenCall({ project_id, writes }: PlannedCall, version: bigint): WrittenCall | undefined {
  const { complete, sides } = writes;
  const { start, end } = sides;
  if (complete === undefined || start === undefined || end === undefined) return undefined;
  const { trace_id, started_at } = start;
  return { project_id, trace_id, version, started_at, status: end.status, row: complete };
}

function remember(state: IngestState, call: PlannedCall, version: bigint): void {
  const { key, writes } = call;
  const { start, end } = writes.sides;
  if (writes.hidden !== undefined) {
    state.hiddenCalls.add(call, writes.hidden.version, writes.hidden.started_at);
    state.newestCalls.remove(call, writes.hidden.started_at, writes.hidden.version);
  }
  if (start !== undefined && end !== undefined) {
    state.known.add(key, start.started_at);
    state.openSides.delete(call);
    state.cache.delete(key);
    state.closedSides += writes.parts.length;
    return;
  }
  if (start === undefined && end === undefined) return;
  const flags = (start ? hasStart : 0) | (end ? hasEnd : 0);
  state.openSides.set(call, start?.started_at ?? 0n, flags, start?.trace_id);
  state.cache.set(call, {
    ...(start && { start: { side: start, version } }),
    ...(end && { end: { side: end, version } }),
  });
}
