import type { Parameters } from "../engine/parameters.js";
import { callConditions } from "./locate.js";
import { keptCall } from "./newest-in-memory.js";
import { pageOfCalls, pageRows } from "./page.js";
import { fetchWhere, listSettings, streamStatement } from "./statements.js";
import type { CallList, CallSource } from "./statements.js";
import { briefly, briefReader } from "../stored-calls/brief.js";
import type { BriefRow } from "../stored-calls/brief.js";
import type { CallRow } from "../stored-calls/stored-call.js";

/** Rows of a list, in order. */
export function readCallRows(list: CallList): AsyncIterable<CallRow> {
  const { limit = Number.POSITIVE_INFINITY, offset, byId } = list;
  const mostRows = Math.min(limit + offset, byId?.ids.length ?? Number.POSITIVE_INFINITY);
  return mostRows <= pageRows ? pageOfCalls(list, mostRows) : streamOfCalls(list);
}

/** One statement with back-pressure: nothing is held here, however long the list. */
async function* streamOfCalls(list: CallList): AsyncGenerator<CallRow, void, undefined> {
  // A reader may take its time: the engine's limit for statements would cut a long result short. All matches are wanted, so
  // that all indexes are read first, not part by part until there are enough rows.
  const settings = { ...listSettings, max_execution_time: 0, use_skip_indexes_on_data_read: 0 as const };
  const read = briefReader(list.select);
  for await (const row of list.engine.stream<BriefRow>(() => streamStatement(list), {
    signal: list.signal,
    settings,
  })) {
    const call = read(row);
    if (call !== undefined) yield call;
  }
}

/** Reads one call: out of memory, or first where memory says or near the time that its id carries. */
export async function fetchCall(source: CallSource, id: string): Promise<CallRow | undefined> {
  const kept = keptCall(source, id);
  if (kept !== undefined) return kept;
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
