import { findRefs, opKey, statusOf, storable, usageOf } from "@heddle/trace-model";
import type { CallEnd, CallStart, JsonText } from "@heddle/trace-model";
import {
  integerArrayField,
  nullableField,
  secondField,
  textArrayField,
  textField,
  textMapEntries,
  timeField,
} from "../tab-separated.js";

/** The columns a start fills, in the order of {@link StartSide.fields}; the same in `calls` and `call_parts`. */
export const START_COLUMNS = [
  "trace_id",
  "parent_id",
  "thread_id",
  "turn_id",
  "op_name",
  "op_key",
  "display_name",
  "user_id",
  "run_id",
  "run_step",
  "source",
  "started_at",
  "attributes",
  "inputs",
  "input_refs",
  "expire_at",
] as const;

/** The columns an end fills, in the order of {@link EndSide.fields}. */
export const END_COLUMNS = ["run_step_end", "ended_at", "output", "summary", "exception", "output_refs"] as const;

/** What only complete calls have, computed from their end, in the order of {@link EndSide.derived}. */
export const DERIVED_COLUMNS = [
  "status",
  "`usage.model`",
  "`usage.requests`",
  "`usage.prompt_tokens`",
  "`usage.completion_tokens`",
  "`usage.total_tokens`",
  "`usage.cache_read_tokens`",
  "`usage.cache_creation_tokens`",
] as const;

/**
 * One side of a call, ready to be written. It is made when a part arrives, so that a commit only puts texts together;
 * two sides say the same when their `fields` and `exact` are equal.
 */
interface Side {
  /** TabSeparated fields. */
  fields: string;
  /** Entries of the `exact` map: originals of what the engine could not read. */
  exact: string;
  size_bytes: number;
}

export interface StartSide extends Side {
  started_at: bigint;
}

export interface EndSide extends Side {
  ended_at: bigint;
  derived: string;
}

/** `expire_at` of what is kept for ever: 2106-01-01, the column's default. */
export const NEVER_SECONDS = 4_291_747_200n;

export function startSide(start: CallStart): StartSide {
  const exact: [string, string][] = [];
  const fields = [
    textField(start.trace_id),
    textField(start.parent_id ?? ""),
    textField(start.thread_id ?? ""),
    textField(start.turn_id ?? ""),
    textField(start.op_name),
    textField(opKey(start.op_name)),
    textField(start.display_name ?? ""),
    textField(start.wb_user_id ?? ""),
    textField(start.wb_run_id ?? ""),
    nullableField(start.wb_run_step, String),
    textField(start.source ?? ""),
    timeField(start.started_at),
    jsonField("attributes", start.attributes, exact),
    jsonField("inputs", start.inputs, exact),
    textArrayField(findRefs(start.inputs)),
    secondField(start.expire_at ?? NEVER_SECONDS * 1_000_000n),
  ];
  return {
    fields: fields.join("\t"),
    exact: textMapEntries(exact),
    size_bytes: Buffer.byteLength(start.attributes) + Buffer.byteLength(start.inputs),
    started_at: start.started_at,
  };
}

export function endSide(end: CallEnd): EndSide {
  const exact: [string, string][] = [];
  const output = end.output ?? "null";
  const fields = [
    nullableField(end.wb_run_step_end, String),
    timeField(end.ended_at),
    jsonField("output", output, exact),
    jsonField("summary", end.summary, exact),
    textField(end.exception ?? ""),
    textArrayField(findRefs(output)),
  ];
  const usage = usageOf(end.summary);
  const derived = [
    statusOf(end),
    textArrayField(usage.map(({ model }) => model)),
    integerArrayField(usage.map(({ requests }) => requests)),
    integerArrayField(usage.map(({ prompt_tokens }) => prompt_tokens)),
    integerArrayField(usage.map(({ completion_tokens }) => completion_tokens)),
    integerArrayField(usage.map(({ total_tokens }) => total_tokens)),
    integerArrayField(usage.map(({ cache_read_tokens }) => cache_read_tokens)),
    integerArrayField(usage.map(({ cache_creation_tokens }) => cache_creation_tokens)),
  ];
  return {
    fields: fields.join("\t"),
    exact: textMapEntries(exact),
    // An absent output and null are one; neither takes storage.
    size_bytes: (output === "null" ? 0 : Buffer.byteLength(output)) + Buffer.byteLength(end.summary),
    ended_at: end.ended_at,
    derived: derived.join("\t"),
  };
}

export function sameSide(a: Side, b: Side): boolean {
  return a.fields === b.fields && a.exact === b.exact;
}

function jsonField(column: string, json: JsonText, exact: [string, string][]): string {
  const stored = storable(json);
  if (stored.exact !== undefined) exact.push([column, stored.exact]);
  return textField(stored.text);
}
