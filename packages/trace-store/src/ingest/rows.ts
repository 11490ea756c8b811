import { RowWriter } from "../tab-separated.js";
import { DERIVED_COLUMNS, END_COLUMNS, NEVER_SECONDS, START_COLUMNS } from "./call-sides.js";
import type { EndSide, ExactTexts, StartSide } from "./call-sides.js";
import type { CallKey } from "./call-key.js";

const SHARED = ["project_id", "id", "version", "exact", "size_bytes", ...START_COLUMNS, ...END_COLUMNS] as const;

export const CALL_COLUMNS = [...SHARED, "latency_us", ...DERIVED_COLUMNS];
export const PART_COLUMNS = [...SHARED, "part", "closed"];
export const HIDDEN_COLUMNS = ["project_id", "id", "version", "started_at", "reason", "hidden_by", "row_version"];
export const NAME_COLUMNS = ["project_id", "id", "display_name", "version"];

export type Half = "start" | "end";

/** An end whose start has not come is given up after 30 days. */
const END_LIFETIME_US = 30n * 86_400_000_000n;

const row = new RowWriter();
const NO_START = noStart();
const NO_END = noEnd();

/** A row of `calls`. */
export function callRow(key: CallKey, start: StartSide, end: EndSide, version: bigint): Uint8Array {
  return row.rowOf(() => {
    const exact = start.exact.length + end.exact.length === 0 ? [] : [...start.exact, ...end.exact];
    shared(key, version, exact, start.size_bytes + end.size_bytes);
    row.fields(start.fields);
    row.fields(end.fields);
    row.integer(end.ended_at - start.started_at);
    row.fields(end.derived);
  });
}

/** A row of `call_parts`: a call that is running. */
export function openStartRow(key: CallKey, start: StartSide, version: bigint): Uint8Array {
  return row.rowOf(() => {
    shared(key, version, start.exact, start.size_bytes);
    row.fields(start.fields);
    row.fields(NO_END);
    row.text("start");
    row.integer(0);
  });
}

/** A row of `call_parts`: an end that waits for its start. */
export function openEndRow(key: CallKey, end: EndSide, version: bigint): Uint8Array {
  return row.rowOf(() => {
    shared(key, version, end.exact, end.size_bytes);
    row.fields(NO_START);
    row.second(version + END_LIFETIME_US);
    row.fields(end.fields);
    row.text("end");
    row.integer(0);
  });
}

/** A row of `call_parts` that removes a half. */
export function closedRow(key: CallKey, part: Half, version: bigint): Uint8Array {
  return row.rowOf(() => {
    shared(key, version, [], 0);
    row.fields(NO_START);
    row.second(NEVER_SECONDS * 1_000_000n);
    row.fields(NO_END);
    row.text(part);
    row.integer(1);
  });
}

export interface HiddenRow {
  /** The version that was replaced; 0 = every version of a deleted call. */
  version: bigint;
  started_at: bigint;
  hidden_by: string;
}

/** A row of `call_hidden`. */
export function hiddenRow(key: CallKey, hidden: HiddenRow, rowVersion: bigint): Uint8Array {
  return row.rowOf(() => {
    row.text(key.project_id);
    row.text(key.id);
    row.integer(hidden.version);
    row.time(hidden.started_at);
    row.text(hidden.version === 0n ? "deleted" : "replaced");
    row.text(hidden.hidden_by);
    row.integer(rowVersion);
  });
}

/** A row of `call_names`. */
export function nameRow(key: CallKey, display_name: string, version: bigint): Uint8Array {
  return row.rowOf(() => {
    row.text(key.project_id);
    row.text(key.id);
    row.text(display_name);
    row.integer(version);
  });
}

function shared(key: CallKey, version: bigint, exact: ExactTexts, size_bytes: number): void {
  row.text(key.project_id);
  row.text(key.id);
  row.integer(version);
  row.textMap(exact);
  row.integer(size_bytes);
}

/** What stands in the columns of a start where there is none, in the order of START_COLUMNS up to expire_at. */
function noStart(): Uint8Array {
  return row.fieldsOf(() => {
    for (let texts = 0; texts < 9; texts++) row.text("");
    row.nullable(undefined, () => {});
    row.text("");
    row.time(0n);
    row.text("");
    row.text("");
    row.texts([]);
  });
}

/** What stands in the columns of an end where there is none, in the order of END_COLUMNS. */
function noEnd(): Uint8Array {
  return row.fieldsOf(() => {
    row.nullable(undefined, () => {});
    row.nullable(undefined, () => {});
    row.text("null");
    row.text("{}");
    row.nullable(undefined, () => {});
    row.texts([]);
  });
}
