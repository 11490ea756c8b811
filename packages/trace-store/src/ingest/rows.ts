import { textField, timeField } from "../tab-separated.js";
import { DERIVED_COLUMNS, END_COLUMNS, NEVER_SECONDS, START_COLUMNS } from "./call-sides.js";
import type { EndSide, StartSide } from "./call-sides.js";
import type { CallKey } from "./call-key.js";

const SHARED = ["project_id", "id", "version", "exact", "size_bytes", ...START_COLUMNS, ...END_COLUMNS] as const;

export const CALL_COLUMNS = [...SHARED, "latency_us", ...DERIVED_COLUMNS];
export const PART_COLUMNS = [...SHARED, "part", "closed"];
export const HIDDEN_COLUMNS = ["project_id", "id", "version", "started_at", "reason", "hidden_by", "row_version"];
export const NAME_COLUMNS = ["project_id", "id", "display_name", "version"];

export type Half = "start" | "end";

/** An end whose start has not come is given up after 30 days. */
const END_LIFETIME_SECONDS = 30n * 86_400n;

const EPOCH = timeField(0n);
const NO_START = ["", "", "", "", "", "", "", "", "", "\\N", "", EPOCH, "", "", "[]"].join("\t");
const NEVER = String(NEVER_SECONDS);
const NO_END = ["\\N", "\\N", "null", "{}", "\\N", "[]"].join("\t");

/** A row of `calls`. */
export function callRow(key: CallKey, start: StartSide, end: EndSide, version: bigint): string {
  const exact = start.exact === "" || end.exact === "" ? start.exact + end.exact : `${start.exact},${end.exact}`;
  const head = shared(key, version, exact, start.size_bytes + end.size_bytes);
  return `${head}\t${start.fields}\t${end.fields}\t${end.ended_at - start.started_at}\t${end.derived}\n`;
}

/** A row of `call_parts`: a call that is running. */
export function openStartRow(key: CallKey, start: StartSide, version: bigint): string {
  return `${shared(key, version, start.exact, start.size_bytes)}\t${start.fields}\t${NO_END}\tstart\t0\n`;
}

/** A row of `call_parts`: an end that waits for its start. */
export function openEndRow(key: CallKey, end: EndSide, version: bigint): string {
  const expire_at = version / 1_000_000n + END_LIFETIME_SECONDS;
  return `${shared(key, version, end.exact, end.size_bytes)}\t${NO_START}\t${expire_at}\t${end.fields}\tend\t0\n`;
}

/** A row of `call_parts` that removes a half. */
export function closedRow(key: CallKey, part: Half, version: bigint): string {
  return `${shared(key, version, "", 0)}\t${NO_START}\t${NEVER}\t${NO_END}\t${part}\t1\n`;
}

export interface HiddenRow {
  /** The version that was replaced; 0 = every version of a deleted call. */
  version: bigint;
  started_at: bigint;
  hidden_by: string;
}

/** A row of `call_hidden`. */
export function hiddenRow(key: CallKey, hidden: HiddenRow, rowVersion: bigint): string {
  const reason = hidden.version === 0n ? "deleted" : "replaced";
  return `${textField(key.project_id)}\t${textField(key.id)}\t${hidden.version}\t${timeField(hidden.started_at)}\t${reason}\t${textField(hidden.hidden_by)}\t${rowVersion}\n`;
}

/** A row of `call_names`. */
export function nameRow(key: CallKey, display_name: string, version: bigint): string {
  return `${textField(key.project_id)}\t${textField(key.id)}\t${textField(display_name)}\t${version}\n`;
}

function shared(key: CallKey, version: bigint, exact: string, size_bytes: number): string {
  return `${textField(key.project_id)}\t${textField(key.id)}\t${version}\t{${exact}}\t${size_bytes}`;
}
