import { readRow } from "../call-pages/row-columns.js";
import type { CallPageRow, StoredRow } from "../call-pages/row-columns.js";
import type { RowProperty } from "../call-pages/call-select.js";
import type { Change } from "../changes/change.js";
import { filterOf } from "../query/filter.js";
import type { KnownCall } from "../stored-calls/known-call.js";
import { isRetained } from "../visibility/retention.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { TailSelection } from "./tail-selection.js";

type Known = Change & { known: KnownCall; started_at: bigint };

/** What a writer knows of a call. Tokens and exceptions are among its payloads. */
const columns: Partial<Record<RowProperty, (change: Known) => Partial<StoredRow>>> = {
  trace_id: ({ known: { start } }) => ({ trace_id: start.trace_id ?? "" }),
  parent_id: ({ known: { start } }) => ({ parent_id: start.parent_id ?? "" }),
  thread_id: ({ known: { start } }) => ({ thread_id: start.thread_id ?? "" }),
  turn_id: ({ known: { start } }) => ({ turn_id: start.turn_id ?? "" }),
  op_name: ({ known: { start } }) => ({ op: start.op_name ?? "" }),
  name: ({ known: { start } }) => ({ op: start.op_name ?? "", display_name: start.display_name ?? "" }),
  user: ({ known: { start } }) => ({ user_id: start.user_id ?? "" }),
  status: ({ known }) => ({ state: known.status }),
  ended_at: ({ known: { ended_at: end } }) => ({ ended_us: end === undefined ? null : String(end) }),
  latency_ms: ({ known: { ended_at: end }, started_at: start }) => ({
    latency_us: end === undefined ? null : String(end - start),
  }),
};

/**
 * The rows of those of the changed calls that match, made of what their writers knew; undefined where that is not enough: tables
 * alone tell payloads, refs, feedback and names that calls got later.
 */
export function knownRows(
  scope: CallScope,
  { plan, shape }: TailSelection,
  changes: readonly Change[],
): Map<string, CallPageRow> | undefined {
  const { project_id, inFlight } = scope;
  const { select, included } = shape;
  if (plan.expression !== undefined || plan.search !== undefined || select.leaves.length > 0) return undefined;
  if (included.costs || included.feedback || included.sizes || inFlight.hasNames(project_id)) return undefined;
  const passes = filterOf(plan.filter, project_id);
  const hidden = inFlight.hidden(project_id);
  const properties = [...select.properties].map((name) => columns[name]);
  const isKept = isRetained(scope);
  if (passes === undefined || hidden === undefined || isKept === undefined) return undefined;
  if (!properties.every((each) => each !== undefined)) return undefined;
  if (!changes.every(isKnown)) return undefined;
  const rows = new Map<string, CallPageRow>();
  for (const change of changes) {
    const { id, version, started_at: started, known } = change;
    if (!isKept(started) || version <= (hidden.get(id)?.upTo ?? -1n) || !passes(known.start)) continue;
    const row: StoredRow = { id, version: String(version), started_us: String(started) };
    for (const columnsOf of properties) Object.assign(row, columnsOf(change));
    rows.set(id, readRow(row, select, { rename: undefined, book: undefined }));
  }
  return rows;
}

const isKnown = (change: Change): change is Known => change.known !== undefined && change.started_at !== undefined;
