import type { Engine } from "../engine/engine.js";
import type { VersionClock } from "../version-clock.js";
import type { CallKey } from "./call-key.js";
import { findStored } from "./find-stored.js";
import type { SoughtCall } from "./find-stored.js";
import { insertRows } from "./insert-rows.js";
import type { PendingRow } from "./insert-rows.js";
import { callRowColumns, hiddenRowColumns, nameRowColumns, nameRow, partRowColumns } from "./rows.js";
import { settle } from "./settle.js";
import type { CallWrites, IncomingCall } from "./settle.js";
import { hasEnd, hasStart } from "./state.js";
import type { IngestState } from "./state.js";

/** What everything that changes calls works with. */
export interface IngestContext {
  engine: Engine;
  clock: VersionClock;
  state: IngestState;
  now: () => bigint;
}

export interface NameChange extends CallKey {
  display_name: string;
}

interface PendingCall extends PendingRow {
  key: string;
}

interface SettledCall extends CallKey {
  key: string;
  writes: CallWrites;
}

/**
 * One commit: looks up what is stored, merges, writes, and resolves when all of it is on disk, with the calls that the
 * engine cannot take. Complete rows go first, so that a crash shows a call twice at worst, never not at all.
 *
 * When it throws after the first insert the outcome is unknown, and `state.suspect` stays set until a recovery.
 */
export async function writeCalls(
  context: IngestContext,
  calls: ReadonlyMap<string, IncomingCall & SoughtCall>,
  names: readonly NameChange[] = [],
): Promise<Map<string, string>> {
  const { engine, state } = context;
  const stored = await findStored(engine, state, calls);
  const version = context.clock.next();
  const settled: SettledCall[] = [];
  const closing: CallKey[] = [];
  for (const [key, call] of calls) {
    const before = stored.get(key) ?? {};
    const writes = settle(call, before, version);
    const settledCall = { key, project_id: call.project_id, id: call.id, writes };
    settled.push(settledCall);
    if (writes.complete !== undefined && (before.start !== undefined || before.call !== undefined)) {
      closing.push(settledCall);
    }
  }
  for (const call of settled) if (call.writes.hidden.length > 0) state.projectsWithHidden.add(call.project_id);
  for (const { project_id } of names) state.projectsWithNames.add(project_id);

  state.beginClosing(closing);
  const refused = await unlessSuspect(state, insertAll(context, settled, names, version));
  state.endClosing();
  for (const call of settled) if (!refused.has(call.key)) remember(state, call, version);
  return refused;
}

async function insertAll(
  { engine }: IngestContext,
  settled: readonly SettledCall[],
  names: readonly NameChange[],
  version: bigint,
): Promise<Map<string, string>> {
  const refused = new Map<string, string>();
  const complete: PendingCall[] = [];
  for (const call of settled) if (call.writes.complete) complete.push(pending(call, call.writes.complete));
  for (const { row, message } of await insertRows(engine, "calls", callRowColumns, complete, version)) {
    refused.set(row.key, message);
  }
  const rest = refused.size === 0 ? settled : settled.filter(({ key }) => !refused.has(key));
  const parts = rest.flatMap((call) => call.writes.parts.map((bytes) => pending(call, bytes)));
  const hidden = rest.flatMap(({ writes }) => writes.hidden);
  const nameRows = names.map((name) => nameRow(name, name.display_name, version));
  const [refusedParts] = await settleAll([
    insertRows(engine, "call_parts", partRowColumns, parts, version),
    insertSound(engine, "call_hidden", hiddenRowColumns, hidden),
    insertSound(engine, "call_names", nameRowColumns, nameRows),
  ]);
  for (const { row, message } of refusedParts) refused.set(row.key, message);
  return refused;
}

/** Inserts of unknown outcome make the state suspect. */
export async function unlessSuspect<T>(state: IngestState, inserts: Promise<T>): Promise<T> {
  try {
    return await inserts;
  } catch (error) {
    state.suspect = true;
    throw error;
  }
}

function pending({ key, project_id, id }: SettledCall, bytes: Uint8Array): PendingCall {
  return { key, project_id, id, bytes };
}

/** Inserts rows that carry nothing an engine could refuse. */
export async function insertSound(
  engine: Engine,
  table: string,
  columns: readonly string[],
  rows: readonly Uint8Array[],
): Promise<void> {
  if (rows.length > 0) await engine.insert(table, columns, rows);
}

/** As Promise.all, but it waits for all of them: nothing may still be on its way when a recovery begins. */
async function settleAll<T extends readonly unknown[]>(work: {
  [Index in keyof T]: Promise<T[Index]>;
}): Promise<T> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

function remember(state: IngestState, { key, writes }: SettledCall, version: bigint): void {
  const { started_at, start, end } = writes.after;
  if (started_at !== undefined) {
    state.known.add(key, started_at);
    state.halves.delete(key);
    state.cache.delete(key);
    state.closedHalves += writes.parts.length;
    return;
  }
  if (start === undefined && end === undefined) return;
  state.halves.set(key, start?.started_at ?? 0n, (start ? hasStart : 0) | (end ? hasEnd : 0));
  state.cache.set(key, {
    ...(start && { start: { side: start, version } }),
    ...(end && { end: { side: end, version } }),
  });
}
