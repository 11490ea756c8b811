import { storable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { exampleDigest, findRefs, opKey, statedKind, statusOf, usageIncludes, usageOf } from "@heddle/trace-model";
import type { CallEnd, CallStart, CallStatus, UsageIncludes, UsageRow } from "@heddle/trace-model";
import { RowWriter } from "../engine/row-writer.js";
import { fieldText, quotedBytes } from "../engine/tab-separated.js";
import { eachStated, statedColumns } from "./stated-columns.js";
import { WrittenFields } from "./written-fields.js";

/** The columns a start fills, in the order of {@link StartSide.fields}, with what they hold; the same in `calls` and `call_parts`. */
const startTypes = {
  trace_id: "text",
  ...eachStated(({ type }) => type),
  op_name: "text",
  op_key: "text",
  display_name: "text",
  source: "text",
  started_at: "time",
  attributes: "text",
  inputs: "text",
  input_refs: "texts",
  example_digest: "text",
  stated_kind: "text",
} as const;

type StartColumn = keyof typeof startTypes;

export const startColumns = Object.keys(startTypes) as readonly StartColumn[];

/** The columns an end fills, in the order of {@link EndSide.fields}. */
export const endColumns = ["run_step_end", "ended_at", "output", "summary", "exception", "output_refs"] as const;

/** Counts of a call by model, in the order of their columns. */
export const usageCounts = [
  "requests",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "cache_read_tokens",
  "cache_creation_tokens",
] as const;

/**
 * What only complete calls have. `usage` is what the call used itself; `reported_usage` is what it reports where that is
 * something else, as a JSON object with a list for each column of `usage`, else ''.
 */
export const derivedColumns = [
  "status",
  "`usage.model`",
  ...usageCounts.map((name) => `\`usage.${name}\``),
  "reported_usage",
];

/** The original of a text that the engine cannot read, as {@link quotedBytes} writes it. */
export type ExactText = readonly [column: string, quoted: Uint8Array];

/**
 * A call arrives in parts (start, end, or complete) and is stored as two sides: its start and its end. A side is open
 * while the other one is missing: it is then a row of `call_parts`. Both together are a complete call, a row of `calls`.
 *
 * A side is encoded when its part arrives, so that a commit only concatenates bytes.
 */
interface Side {
  fields: WrittenFields;
  exact: readonly ExactText[];
  size_bytes: number;
}

export interface StartSide extends Side {
  trace_id: string;
  /** '' for a root. */
  parent_id: string;
  started_at: bigint;
  /** What the usage of the call is known to include. */
  includes: UsageIncludes | undefined;
}

export interface EndSide extends Side {
  ended_at: bigint;
  status: CallStatus;
  /** As the call reports it, which may include what other calls used. */
  usage: readonly UsageRow[];
}

/** A side that waits for the other one, as it is stored. */
export interface OpenSide<Side> {
  side: Side;
  version: bigint;
}

/** The open sides of a call. */
export interface OpenSides {
  start?: OpenSide<StartSide>;
  end?: OpenSide<EndSide>;
}

const writer = new RowWriter();

export function startSide(start: CallStart): StartSide {
  const exact: ExactText[] = [];
  let sizeBytes = 0;
  const fields = new WrittenFields(writer.fieldsOf(() => (sizeBytes = writeStart(writer, start, exact))));
  return { fields, exact, size_bytes: sizeBytes, ...startFacts(start) };
}

export function endSide(end: CallEnd): EndSide {
  const exact: ExactText[] = [];
  let sizeBytes = 0;
  const fields = new WrittenFields(writer.fieldsOf(() => (sizeBytes = writeEnd(writer, end, exact))));
  const facts = endFacts(end);
  return { fields, exact, size_bytes: sizeBytes, ...facts, usage: facts.usage.map(copyRow) };
}

/** What is known of a start besides its columns. */
export function startFacts(start: CallStart): Omit<StartSide, keyof Side> {
  const { trace_id, parent_id = "", started_at, attributes } = start;
  const includes = start.usageIncludes ?? usageIncludes(attributes);
  return { trace_id, parent_id, started_at, includes: includes || undefined };
}

/** What is known of an end besides its columns. Whoever keeps the usage copies it: see {@link copyText}. */
export function endFacts(end: CallEnd): Omit<EndSide, keyof Side> {
  return { ended_at: end.ended_at, status: statusOf(end), usage: end.usage ?? usageOf(end.summary) };
}

/** See {@link copyText}. */
export function copyRow(row: UsageRow): UsageRow {
  return { ...row, model: copyText(row.model) };
}

/** A slice of a text would keep the memory of its whole request. */
export function copyText(text: string): string {
  return Buffer.from(text).toString();
}

/** Whether two starts, or two ends, are equal. */
export function sameSide(a: Side, b: Side): boolean {
  return (
    a.fields.bytes.equals(b.fields.bytes) &&
    a.exact.length === b.exact.length &&
    a.exact.every(([column, text], index) => {
      const other = b.exact[index];
      return column === other?.[0] && Buffer.compare(text, other[1]) === 0;
    })
  );
}

/** Writes startColumns, adds to `exact`, and returns the bytes that the call takes of its project's storage. */
export function writeStart(out: RowWriter, start: CallStart, exact: ExactText[]): number {
  const { storableAsIs } = start;
  out.text(start.trace_id);
  for (const { field, type } of statedColumns) {
    const value = start[field];
    if (typeof value === "number") out.integer(value);
    else if (type === "int") out.null();
    else out.text(value ?? "");
  }
  out.text(start.op_name);
  out.text(opKey(start.op_name));
  out.text(start.display_name ?? "");
  out.text(start.source ?? "");
  out.time(start.started_at);
  const attributesBytes = writeJson(out, "attributes", start.attributes, storableAsIs, exact);
  const inputsBytes = writeJson(out, "inputs", start.inputs, storableAsIs, exact);
  out.texts(storableAsIs ? [] : findRefs(start.inputs));
  out.text(exampleDigest(start.op_name, start.inputs));
  out.text(start.kind ?? statedKind(start.attributes) ?? "");
  return attributesBytes + inputsBytes;
}

/** Writes startColumns where there is no start. */
export function writeNoStart(out: RowWriter): void {
  for (const type of Object.values(startTypes)) {
    if (type === "int") out.null();
    else if (type === "time") out.time(0n);
    else if (type === "texts") out.texts([]);
    else out.text("");
  }
}

/** The texts of the startColumns of a side; null where there is none. */
export type StartTexts = Readonly<Record<StartColumn, string | null>>;

export function readStart({ fields }: StartSide): StartTexts {
  // Each field ends with a tab, the last one of a row with a line feed.
  const texts = fields.bytes.toString("utf8", 0, fields.length - 1).split("\t");
  return textsOf(startColumns, texts) as StartTexts;
}

function textsOf(columns: readonly StartColumn[], fields: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(columns.map((column, index) => [column, fieldText(fields[index] ?? "")]));
}

type HeadColumn = Exclude<
  StartColumn,
  "source" | "started_at" | "attributes" | "inputs" | "input_refs" | "example_digest" | "stated_kind"
>;
/** The texts of what comes before the payloads of a start. */
export type StartHead = Readonly<Record<HeadColumn, string | null>>;

const headLength = startColumns.indexOf("display_name") + 1;
const mostHeadBytes = 2000;

/** Undefined for one that is longer than texts of this kind should be. */
export function readHead({ fields }: StartSide): StartHead | undefined {
  const { bytes } = fields;
  const head = bytes.toString("utf8", 0, mostHeadBytes).split("\t", headLength + 1);
  if (head.length <= headLength) return undefined;
  return textsOf(startColumns.slice(0, headLength), head) as StartHead;
}

/** Writes endColumns, adds to `exact`, and returns the bytes that the call takes of its project's storage. */
export function writeEnd(out: RowWriter, end: CallEnd, exact: ExactText[]): number {
  const { storableAsIs, output = "null", summary } = end;
  writeStep(out, end.wb_run_step_end);
  out.time(end.ended_at);
  const outputBytes = writeJson(out, "output", output, storableAsIs, exact);
  const summaryBytes = writeJson(out, "summary", summary, storableAsIs, exact);
  out.text(end.exception ?? "");
  out.texts(storableAsIs ? [] : findRefs(output));
  // An absent output and null are one; neither takes storage.
  return output === "null" ? summaryBytes : outputBytes + summaryBytes;
}

/** Writes derivedColumns of a call that used `own` itself. */
export function writeDerived(out: RowWriter, { status, usage }: Pick<EndSide, "status" | "usage">, own = usage): void {
  out.text(status);
  out.texts(own.length === 0 ? noTexts : own.map(({ model }) => model));
  for (const count of countsOfUsage) out.integersOf(own, count);
  out.text(own === usage ? "" : usageColumns(usage));
}

const noTexts: readonly string[] = [];
const countsOfUsage = usageCounts.map((name) => (row: UsageRow) => row[name]);

function usageColumns(usage: readonly UsageRow[]): JsonText {
  const columns = (["model", ...usageCounts] as const).map((name) => [name, usage.map((row) => row[name])] as const);
  return JSON.stringify(Object.fromEntries(columns));
}

function writeStep(out: RowWriter, step: number | undefined): void {
  if (step === undefined) out.null();
  else out.integer(step);
}

/** Returns the bytes of the text as it was sent. */
function writeJson(
  out: RowWriter,
  column: string,
  text: JsonText,
  storableAsIs: true | undefined,
  exact: ExactText[],
): number {
  if (storableAsIs) return out.text(text);
  const stored = storable(text);
  if (stored.exact !== undefined) exact.push([column, quotedBytes(stored.exact)]);
  const bytes = out.text(stored.text);
  return stored.text === text ? bytes : Buffer.byteLength(text);
}
