import { readable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { splitPath } from "@heddle/trace-model";
import type { CallStatus, StatedValues } from "@heddle/trace-model";
import { readStated, statedColumns, statedSources } from "./stated-columns.js";
import type { StatedRow } from "./stated-columns.js";

/** A call as the store returns it. Columns that were not asked for are empty: null, `{}` or `null`. */
export interface StoredCall extends StatedValues<null> {
  project_id: string;
  id: string;
  trace_id: string;
  op_name: string;
  /** The last rename, else the name it was started with. */
  display_name: string | null;
  exception: string | null;
  wb_run_step_end: number | null;
  /** Microseconds since 1970. */
  started_at: bigint;
  /** Null while the call runs. */
  ended_at: bigint | null;
  attributes: JsonText;
  inputs: JsonText;
  /** As the client sent it; the computed block is the reader's to add. */
  summary: JsonText;
  output: JsonText;
  status: CallStatus;
  /** Null while the call runs. */
  latency_us: bigint | null;
  /** When the retention of the project deletes the call. */
  expire_at: bigint | null;
  /** UTF-8 bytes of attributes, inputs, output and summary. */
  storage_size_bytes?: number;
  /** The same, summed over the trace; null for calls that have a parent. */
  total_storage_size_bytes?: number | null;
  /** What each model cost, as `summary.weave.costs` shows it; undefined when no model has a price. */
  costs?: JsonText;
  /** The feedback on the call, each a JSON object, oldest first; only when it was asked for. */
  feedback?: readonly JsonText[];
}

/** A row of what `callColumns` selects; columns that were not asked for are missing. */
export interface CallRow extends StatedRow {
  id: string;
  trace_id: string;
  op: string;
  started_us: string;
  state: CallStatus;
  latency_us: string | null;
  display_name?: string;
  failure?: string | null;
  run_step_end?: string | null;
  ended_us?: string | null;
  attributes?: string;
  inputs?: string;
  output?: string;
  summary?: string;
  /** The original of each JSON column whose text had to be made safe for the engine. */
  exact: Readonly<Record<string, JsonText>>;
  size_bytes?: string;
}

/** What each field of the API is read from. Names differ where one would hide a stored column from conditions. */
const columnSources = {
  ...statedSources,
  display_name: "display_name",
  exception: "nullIf(exception, '') AS failure",
  wb_run_step_end: "run_step_end",
  ended_at: "toUnixTimestamp64Micro(ended_at) AS ended_us",
  attributes: "attributes",
  inputs: "inputs",
  output: "output",
  summary: "summary",
} as const;

const optionalColumns = [
  ...statedColumns.map(({ column }) => column),
  "display_name",
  "failure",
  "run_step_end",
  "ended_us",
  "attributes",
  "inputs",
  "output",
  "summary",
  "size_bytes",
] as const satisfies ReadonlyArray<keyof CallRow>;

type CallField = keyof typeof columnSources;

const alwaysRead = [
  "id",
  "trace_id",
  "toString(op_name) AS op",
  "toUnixTimestamp64Micro(started_at) AS started_us",
  "toString(status) AS state",
  "latency_us",
  "exact",
];

/** What the computed block of a summary needs in addition. */
const readWithSummary: readonly CallField[] = ["ended_at", "exception", "display_name"];

/**
 * The columns to read for a list of API field names or dotted paths; all of them without a list. A path selects its
 * whole column, an unknown name nothing.
 */
export function callColumns(columns: readonly string[] | undefined): string[] {
  const all = Object.keys(columnSources).filter(isColumn);
  if (columns === undefined) return [...alwaysRead, ...all.map((name) => columnSources[name])];
  const roots = new Set(columns.map((path) => splitPath(path)[0]));
  if (roots.has("costs")) roots.add("summary");
  if (roots.has("summary")) for (const name of readWithSummary) roots.add(name);
  return [...alwaysRead, ...all.filter((name) => roots.has(name)).map((name) => columnSources[name])];
}

/** The names of what {@link callColumns} selects. */
export function columnNames(select: readonly string[]): string[] {
  return select.map((expression) => /\b(\w+)$/.exec(expression)?.[1] ?? expression);
}

/** The row without columns that are not among those that {@link callColumns} selected. */
export function pickColumns(row: CallRow, select: readonly string[]): CallRow {
  const names = new Set(columnNames(select));
  const picked = { ...row };
  for (const name of optionalColumns) if (!names.has(name)) delete picked[name];
  return picked;
}

/** `retentionUs` is that of the project. */
export function toStoredCall(projectId: string, row: CallRow, retentionUs: bigint | undefined): StoredCall {
  return {
    project_id: projectId,
    id: row.id,
    trace_id: row.trace_id,
    op_name: row.op,
    ...readStated(row, null),
    display_name: row.display_name || null,
    exception: row.failure ?? null,
    wb_run_step_end: integer(row.run_step_end),
    started_at: BigInt(row.started_us),
    ended_at: microseconds(row.ended_us),
    attributes: asSent(row, "attributes") || "{}",
    inputs: asSent(row, "inputs") || "{}",
    summary: asSent(row, "summary") || "{}",
    output: asSent(row, "output") || "null",
    status: row.state,
    latency_us: microseconds(row.latency_us),
    expire_at: retentionUs === undefined ? null : BigInt(row.started_us) + retentionUs,
    ...(row.size_bytes === undefined ? {} : { storage_size_bytes: Number(row.size_bytes) }),
  };
}

function asSent(row: CallRow, column: "attributes" | "inputs" | "output" | "summary"): JsonText | undefined {
  const text = row[column];
  return text === undefined ? undefined : readable(text, row.exact[column]);
}

function isColumn(name: string): name is CallField {
  return Object.hasOwn(columnSources, name);
}

function integer(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text);
}

function microseconds(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : BigInt(text);
}
