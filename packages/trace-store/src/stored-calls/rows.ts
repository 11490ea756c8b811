import type { CallEnd, CallStart, UsageRow } from "@heddle/trace-model";
import { RowWriter } from "../engine/row-writer.js";
import {
  derivedColumns,
  endColumns,
  endFacts,
  startColumns,
  startFacts,
  writeDerived,
  writeEnd,
  writeNoStart,
  writeStart,
} from "./call-sides.js";
import type { EndSide, ExactText, StartSide } from "./call-sides.js";
import type { CallKey } from "./call-key.js";
import { WrittenFields } from "./written-fields.js";

const keyColumns = ["project_id", "id"];
/** Known when everything before them is written; the version not before the commit. */
const lastColumns = ["exact", "size_bytes", "version"];

export const callRowColumns = [
  ...keyColumns,
  ...startColumns,
  ...endColumns,
  "latency_us",
  ...derivedColumns,
  ...lastColumns,
];
export const partRowColumns = [
  ...keyColumns,
  ...startColumns,
  "expire_at",
  ...endColumns,
  "part",
  "closed",
  ...lastColumns,
];
export const hiddenRowColumns = ["project_id", "id", "version", "started_at", "reason", "hidden_by", "row_version"];
export const nameRowColumns = ["project_id", "id", "display_name", "version"];

export type SideName = "start" | "end";

/** A placeholder for the version of a row: any time from 2001 to 2286 has as many digits. */
const noVersion = 1_000_000_000_000_000n;
const versionDigits = String(noVersion).length;

/** What does not expire: 2106-01-01, the default of `expire_at`. */
const neverUs = 4_291_747_200_000_000n;
/** An end whose start has not come expires after 30 days. */
const endLifetimeUs = 30n * 86_400_000_000n;

const row = new RowWriter();
const noStartFields = row.fieldsOf(() => writeNoStart(row));
const noEndFields = noEnd();

/** A complete call that arrived in one part: its sides are slices of its row. */
export interface CompleteCallRow {
  start: StartSide;
  end: EndSide;
  /** A row of `calls` that waits for its version, see {@link withVersion}. */
  row: Buffer;
}

/** Most calls arrive complete: their row is written once, and nothing of it is copied before it is sent. */
export function completeCallRow(key: CallKey, start: CallStart, end: CallEnd): CompleteCallRow {
  const startExact: ExactText[] = [];
  const endExact: ExactText[] = [];
  let [startFrom, endFrom, endTo, startSize, endSize] = [0, 0, 0, 0, 0];
  const endOf = endFacts(end);
  const bytes = row.rowOf(() => {
    writeKey(key);
    startFrom = row.length;
    startSize = writeStart(row, start, startExact);
    endFrom = row.length;
    endSize = writeEnd(row, end, endExact);
    endTo = row.length;
    row.integer(end.ended_at - start.started_at);
    writeDerived(row, endOf);
    writeLast(both(startExact, endExact), startSize + endSize, noVersion);
  });
  return {
    row: bytes,
    start: {
      fields: new WrittenFields(bytes, startFrom, endFrom),
      exact: startExact,
      size_bytes: startSize,
      ...startFacts(start),
    },
    end: {
      fields: new WrittenFields(bytes, endFrom, endTo),
      exact: endExact,
      size_bytes: endSize,
      ...endOf,
    },
  };
}

/** The same row with its version, which is at its end; undefined when the version does not fit there. */
export function withVersion(row: Buffer, version: bigint): Uint8Array | undefined {
  const text = String(version);
  if (text.length !== versionDigits) return undefined;
  row.write(text, row.length - 1 - versionDigits, "latin1");
  return row;
}

/** A row of `calls` whose sides arrived separately, or whose own usage is not what it reports. */
export function callRow(
  key: CallKey,
  { start, end, own }: { start: StartSide; end: EndSide; own: readonly UsageRow[] | undefined },
  version: bigint,
): Uint8Array {
  return row.rowOf(() => {
    writeKey(key);
    row.fields(start.fields.bytes);
    row.fields(end.fields.bytes);
    row.integer(end.ended_at - start.started_at);
    writeDerived(row, end, own);
    writeLast(both(start.exact, end.exact), start.size_bytes + end.size_bytes, version);
  });
}

/** A row of `call_parts`: a call that is running. */
export function openStartRow(key: CallKey, start: StartSide, version: bigint): Uint8Array {
  return partRow(key, { part: "start", closed: 0, ...start, version }, () => {
    row.fields(start.fields.bytes);
    row.second(neverUs);
    row.fields(noEndFields);
  });
}

/** A row of `call_parts`: an end that waits for its start. */
export function openEndRow(key: CallKey, end: EndSide, version: bigint): Uint8Array {
  return partRow(key, { part: "end", closed: 0, ...end, version }, () => {
    row.fields(noStartFields);
    row.second(version + endLifetimeUs);
    row.fields(end.fields.bytes);
  });
}

/** A row of `call_parts` that removes an open side. */
export function closedRow(key: CallKey, part: SideName, version: bigint): Uint8Array {
  return partRow(key, { part, closed: 1, exact: [], size_bytes: 0, version }, () => {
    row.fields(noStartFields);
    row.second(neverUs);
    row.fields(noEndFields);
  });
}

interface PartRow {
  part: SideName;
  closed: 0 | 1;
  exact: readonly ExactText[];
  size_bytes: number;
  version: bigint;
}

function partRow(key: CallKey, last: PartRow, writeSides: () => void): Uint8Array {
  return row.rowOf(() => {
    writeKey(key);
    writeSides();
    row.text(last.part);
    row.integer(last.closed);
    writeLast(last.exact, last.size_bytes, last.version);
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
    writeKey(key);
    row.integer(hidden.version);
    row.time(hidden.started_at);
    row.text(hidden.version === 0n ? "deleted" : "replaced");
    row.text(hidden.hidden_by);
    row.integer(rowVersion);
  });
}

/** A row of `call_names`. */
export function nameRow(key: CallKey, displayName: string, version: bigint): Uint8Array {
  return row.rowOf(() => {
    writeKey(key);
    row.text(displayName);
    row.integer(version);
  });
}

function writeKey({ project_id, id }: CallKey): void {
  row.text(project_id);
  row.text(id);
}

function writeLast(exact: readonly ExactText[], sizeBytes: number, version: bigint): void {
  row.textMap(exact);
  row.integer(sizeBytes);
  row.integer(version);
}

function both(start: readonly ExactText[], end: readonly ExactText[]): readonly ExactText[] {
  return start.length === 0 ? end : [...start, ...end];
}

/** The columns of an end where there is none, in the order of endColumns. */
function noEnd(): Uint8Array {
  return row.fieldsOf(() => {
    row.null();
    row.null();
    row.text("null");
    row.text("{}");
    row.null();
    row.texts([]);
  });
}
