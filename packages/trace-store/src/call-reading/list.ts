import { callConditions } from "./locate.js";
import { pageOfCalls, pageRows } from "./page.js";
import { fetchWhere, listSettings, streamStatement } from "./statements.js";
import type { CallList, CallSource } from "./statements.js";
import type { CallRow } from "../stored-calls/stored-call.js";

/** Rows of a list, in order. */
export function readCallRows(list: CallList): AsyncIterable<CallRow> {
  const { limit = Number.POSITIVE_INFINITY, offset, byId } = list;
  const mostRows = Math.min(limit + offset, byId?.ids.length ?? Number.POSITIVE_INFINITY);
  return mostRows <= pageRows ? pageOfCalls(list, mostRows) : streamOfCalls(list);
}

/** One statement with back-pressure: nothing is held here, however long the list. */
function streamOfCalls(list: CallList): AsyncIterable<CallRow> {
  // A reader may take its time: the engine's limit for statements would cut a long result short. All matches are wanted, so
  // that all indexes are read first, not part by part until there are enough rows.
  const settings = { ...listSettings, max_execution_time: 0, use_skip_indexes_on_data_read: 0 as const };
  return list.engine.stream<CallRow>(() => streamStatement(list), { signal: list.signal, settings });
}

/** Reads one call, first where memory says or near the time that its id carries. */
export async function fetchCall(source: CallSource, id: string): Promise<CallRow | undefined> {
  for (const condition of callConditions(source.scope(), id)) {
    const row = (await fetchWhere(source, (p) => ({ ...condition(p), ids: [id] }))).get(id);
    if (row !== undefined) return row;
  }
  return undefined;
}
