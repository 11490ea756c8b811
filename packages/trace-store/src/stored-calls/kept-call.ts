import type { CallStatus } from "@heddle/trace-model";
import { fieldText, unescaped } from "../engine/tab-separated.js";
import type { CallKey } from "./call-key.js";
import { callRowColumns } from "./rows.js";
import { eachStated } from "./stated-columns.js";
import type { StatedColumn } from "./stated-columns.js";
import type { CallRow } from "./stored-call.js";

/** A complete call that memory has whole. */
export interface KeptCall {
  id: string;
  version: bigint;
  /** Microseconds since 1970. */
  started_at: bigint;
  status: CallStatus;
  /** Its row of `calls`, as `RowWriter` wrote it. */
  row: Buffer;
  /** What has to be unpacked to read the row, which takes 0.2 ms for all rows in it. */
  packedIn: object | undefined;
}

/** The newest complete calls of a project, as far as memory has them whole. */
export interface NewestOfProject {
  /** All are there that started after this; microseconds since 1970. */
  after: bigint;
  /** Whether no others are stored. */
  isAll: boolean;
  /** In the order of the table, with some that were replaced or deleted. Not to be kept. */
  calls: ReadonlyArray<KeptCall & { isGone: boolean }>;
}

/** A complete call that was read from the tables. */
export interface ReadCall extends CallKey, Omit<KeptCall, "id" | "packedIn"> {
  trace_id: string;
}

/** The newest calls of a project on their way from the tables into memory, slice by slice back in time. */
export interface ReadBack {
  /** What to read next; undefined when memory takes no more. */
  next(): ReadBackSlice | undefined;
  /**
   * Adds those of the slice that started after a time, or all that there are. False when memory takes no more: some of the
   * project were replaced, deleted or forgotten meanwhile.
   */
  add(calls: readonly ReadCall[], after: bigint | "all"): boolean;
  end(): void;
}

export interface ReadBackSlice {
  /** Of calls that started then or before; undefined where that is all. */
  upTo: bigint | undefined;
  mostCalls: number;
  mostBytes: number;
  /** Nobody has used memory for a moment. */
  isIdle: boolean;
  /** It is among the first 10,000 calls: they are read at once. */
  isUrgent: boolean;
}

/** The texts of columns of a row, `exact` as it is written; null where there is none. */
export type ColumnTexts = Readonly<Record<string, string | null>>;

const tab = 9;
/** The columns before the payloads, which are short. */
const headColumns = callRowColumns.slice(0, callRowColumns.indexOf("attributes"));

/** Some of what comes before the payloads. */
export type KeptHead = Readonly<
  Record<StatedColumn | "trace_id" | "op_name" | "op_key" | "display_name", string | null>
>;

export function readHead({ row }: KeptCall): KeptHead {
  let end = -1;
  for (let left = headColumns.length; left > 0; left--) end = row.indexOf(tab, end + 1);
  return textsOf(headColumns, row.toString("utf8", 0, end));
}

/** The id of a row that begins there. */
export function idOfRow(rows: Buffer, from: number): string {
  return idOfField(rows, rows.indexOf(tab, from) + 1);
}

/** Of its field, which a tab ends. */
export function idOfField(fields: Buffer, from: number): string {
  return fieldText(fields.toString("utf8", from, fields.indexOf(tab, from))) ?? "";
}

/** The field of the id of a row, with the tab that ends it. */
export function idField(row: Buffer): Buffer {
  const from = row.indexOf(tab) + 1;
  return row.subarray(from, row.indexOf(tab, from) + 1);
}

/** All columns. */
export function readKept({ row }: KeptCall): ColumnTexts {
  return textsOf(callRowColumns, row.toString("utf8", 0, row.length - 1));
}

function textsOf(columns: readonly string[], text: string): ColumnTexts {
  const fields = text.split("\t");
  return Object.fromEntries(
    columns.map((column, index) => {
      const field = fields[index] ?? "";
      return [column, column === "exact" ? field : fieldText(field)] as const;
    }),
  );
}

/** The row as a statement would return it. */
export function keptRow({ id, started_at, status }: KeptCall, texts: ColumnTexts): CallRow {
  const latency = texts["latency_us"] ?? "0";
  return {
    id,
    trace_id: texts["trace_id"] ?? "",
    ...eachStated(({ column }) => texts[column] ?? null),
    op: texts["op_name"] ?? "",
    display_name: texts["display_name"] ?? "",
    run_step_end: texts["run_step_end"] ?? null,
    started_us: String(started_at),
    ended_us: String(started_at + BigInt(latency)),
    latency_us: latency,
    state: status,
    failure: texts["exception"] || null,
    attributes: texts["attributes"] ?? "",
    inputs: texts["inputs"] ?? "",
    output: texts["output"] ?? "",
    summary: texts["summary"] ?? "",
    exact: exactOf(texts["exact"] ?? "{}"),
    size_bytes: texts["size_bytes"] ?? "0",
  };
}

const entryPattern = /'((?:[^'\\]|\\.)*)':'((?:[^'\\]|\\.)*)'/gs;

/** The originals of payloads by their column. */
function exactOf(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(entryPattern), ([, column = "", value = ""]) => [column, unescaped(value)]),
  );
}
