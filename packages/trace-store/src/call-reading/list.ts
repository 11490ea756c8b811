import type { Parameters } from "../engine/parameters.js";
import { callConditions } from "./locate.js";
import { keptCall } from "./newest-in-memory.js";
import { callsOfRows, pageOfCalls, pageRows } from "./page.js";
import { readBack } from "./read-back.js";
import { located } from "./row-source.js";
import { fetchBytes, fetchCalls, fetchWhere, streamStatement, wholeListSettings } from "./statements.js";
import type { CallList, CallSource } from "./statements.js";
import { tracesInMemory } from "./traces-in-memory.js";
import { tracesInTables } from "./traces-in-tables.js";
import { briefly, briefReader, lengthOf } from "../stored-calls/brief.js";
import type { BriefRow } from "../stored-calls/brief.js";
import type { CallRow } from "../stored-calls/stored-call.js";

/** Rows of a list, in order. */
export async function* readCallRows(list: CallList): AsyncGenerator<CallRow, void, undefined> {
  const { limit = Number.POSITIVE_INFINITY, offset, byId } = list;
  const rows = (await tracesInMemory(list)) ?? (await tracesInTables(list));
  const mostRows = Math.min(limit + offset, byId?.ids.length ?? Number.POSITIVE_INFINITY);
  if (rows !== undefined) yield* callsOfRows(list, rows);
  else yield* mostRows <= pageRows ? pageOfCalls(list, mostRows) : streamOfCalls(list);
}

/**
 * One statement with back-pressure: nothing is held here, however long the list. Of traces it leaves out what `brief` has of nearly
 * all calls and costs more than everything else to read; from a call on of which it has not all, a few megabytes are held until
 * another statement has read that.
 */
async function* streamOfCalls(list: CallList): AsyncGenerator<CallRow, void, undefined> {
  // A reader may take its time: the engine's limit for statements would cut a long result short.
  const settings = { ...wholeListSettings, max_execution_time: 0 };
  const read = briefReader(list.select);
  let held: BriefRow[] = [];
  let bytes = 0;
  for await (const row of list.engine.stream<BriefRow>(() => streamStatement(list), {
    signal: list.signal,
    settings,
  })) {
    const call = held.length === 0 ? read(row) : undefined;
    if (call !== undefined) {
      yield call;
      continue;
    }
    held.push(row);
    bytes += lengthOf(row);
    if (bytes < fetchBytes) continue;
    yield* wholeCalls(list, held, bytes);
    [held, bytes] = [[], 0];
  }
  yield* wholeCalls(list, held, bytes);
}

async function* wholeCalls(list: CallList, rows: BriefRow[], bytes: number): AsyncGenerator<CallRow, void, undefined> {
  if (rows.length === 0) return;
  const read = briefReader(list.select);
  const release = await list.reserve?.(bytes);
  try {
    const calls = rows.map((row) => ({ ...row, call: read(row) }));
    const partial = calls.filter(({ call }) => call === undefined);
    const whole = await fetchCalls(
      { ...list, engine: list.lookups },
      located(partial.map(({ id, started_us: us }) => ({ id, started_at: BigInt(us) }))),
    );
    for (const { id, call = whole.get(id) } of calls) if (call !== undefined) yield call;
  } finally {
    release?.();
  }
}

/** Reads one call: out of memory, or first where memory says or near the time that its id carries. */
export async function fetchCall(source: CallSource, id: string): Promise<CallRow | undefined> {
  const kept = keptCall(source, id);
  if (kept !== undefined) return kept;
  void readBack(source);
  const select = briefly(source.select);
  const read = briefReader(source.select);
  for (const condition of callConditions(source.scope(), id)) {
    const which = (p: Parameters) => ({ ...condition(p), ids: [id] });
    const row = (await fetchWhere<BriefRow>({ ...source, select }, which)).get(id);
    const call = row && (read(row) ?? (await fetchWhere(source, which)).get(id));
    if (call !== undefined) return call;
  }
  return undefined;
}
