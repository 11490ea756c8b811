import { Parameters } from "../../engine/parameters.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { keysFrom, located } from "../../visibility/located.js";
import type { IngestContext } from "../context.js";
import { allRows, newestRows } from "../../schema/read-table.js";
import type { Slice } from "./slices.js";

/** What a crash, or a re-sent call that changed its start time, can leave. */
export interface Inconsistencies {
  /** Complete calls with an open side, and when they start. */
  open: Array<CallKey & { us: string }>;
  /** Calls with several versions that nothing hides. */
  doubled: Versions[];
}

interface Versions extends CallKey {
  /** Oldest first, as pairs of version and start time. */
  versions: Array<[string, string]>;
}

/**
 * Finds inconsistencies that the rows of some versions are part of; other rows are found by their ids. While a commit runs it
 * also finds calls that are being written: repairing them is harmless.
 */
export async function findInconsistencies(context: IngestContext, span: Slice): Promise<Inconsistencies> {
  const [open, doubled] = await Promise.all([completeAndOpen(context, span), withOlderVersions(context, span)]);
  return { open, doubled };
}

/** Either side may be the newer one. */
async function completeAndOpen({ engine, state }: IngestContext, span: Slice): Promise<Inconsistencies["open"]> {
  if (state.openSides.isEmpty) return [];
  const params = new Parameters();
  const written = within(params, span);
  const open = `FROM ${newestRows("call_parts")} WHERE closed = 0`;
  const keys = keysFrom(newestRows("call_parts"), `closed = 0 AND ${written}`);
  const there = state.hasAllIds()
    ? located(keys, state.watermarks.indexed)
    : `id IN (SELECT id ${open} AND ${written})`;
  const columns = "project_id, id, version, started_at";
  const rows = [
    `SELECT ${columns} FROM calls WHERE ${written} AND (project_id, id) IN (SELECT project_id, id ${open})`,
    `SELECT ${columns} FROM calls WHERE ${there} AND (project_id, id) IN (SELECT project_id, id ${open} AND ${written})`,
  ];
  const sql = `SELECT project_id, id, toUnixTimestamp64Micro(argMax(started_at, version)) AS us
    FROM (${rows.join(" UNION ALL ")}) GROUP BY project_id, id`;
  return await engine.rows<CallKey & { us: string }>({ sql, params });
}

/**
 * A version that was hidden before those of the span may be found again: it can be hidden twice. Until `call_ids` is filled those
 * are missed that start at another time.
 */
async function withOlderVersions({ engine, state }: IngestContext, span: Slice): Promise<Versions[]> {
  if (span.rows === 0) return [];
  const params = new Parameters();
  const written = within(params, span);
  const hidden = `SELECT project_id, id, version FROM ${allRows("call_hidden")}
    WHERE row_version > ${params.bind("UInt64", span.after)} AND version > 0`;
  const sql = `SELECT project_id, id, arraySort(groupUniqArray((version, toUnixTimestamp64Micro(started_at)))) AS versions
    FROM calls
    WHERE ${state.hasAllIds() ? located(keysFrom("calls", written), state.watermarks.indexed) : `(project_id, started_at) IN (SELECT project_id, started_at FROM calls WHERE ${written})`}
      AND (project_id, id) IN (SELECT project_id, id FROM calls WHERE ${written})
      AND (project_id, id, version) NOT IN (${hidden})
    GROUP BY project_id, id HAVING length(versions) > 1`;
  return await engine.rows<Versions>({ sql, params });
}

function within(params: Parameters, { after, upTo }: Slice): string {
  return `version > ${params.bind("UInt64", after)} AND version <= ${params.bind("UInt64", upTo)}`;
}
