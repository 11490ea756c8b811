import { HeddleError } from "@heddle/errors";
import { jsonType, readable, storable } from "@heddle/exact-json";
import { isCallId, parseRef, projectIdOf } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { RowWriter } from "../engine/row-writer.js";
import { newestRows } from "../schema/read-table.js";
import { contentColumns, storedName } from "./columns.js";
import type { ContentColumn } from "./columns.js";
import type { NewFeedback } from "./requests.js";

/** A row of `feedback`. Writing the same key with a greater version replaces it. */
export interface FeedbackRow {
  project_id: string;
  id: string;
  /** Of the call that the ref names; '' for any other ref. */
  call_id: string;
  user_id: string;
  /** Microseconds since 1970. */
  created_at: bigint;
  /** Texts as they are stored, '' for absent ones. */
  content: Readonly<Record<ContentColumn, string>>;
  /** The payload as sent, where the engine cannot read it. */
  exact: string;
}

/** A row as it is to be written. */
export interface FeedbackWrite extends FeedbackRow {
  deleted: boolean;
  version: bigint;
}

/** A read of `feedback` by its indexes is right with FINAL: they are over columns of the key. */
export const indexedReads = { use_skip_indexes_if_final: 1 } as const;

/** The row of new feedback, without what the store adds. Throws `invalid` for an id or payload that cannot be stored. */
export function rowOf(feedback: NewFeedback, id: string): Omit<FeedbackRow, "created_at"> {
  if (!isCallId(id)) {
    throw new HeddleError("invalid", "an id has 1 to 256 characters, none of them a lone surrogate", { loc: ["id"] });
  }
  if (jsonType(feedback.payload) !== "object") {
    throw new HeddleError("invalid", "the payload must be an object", { loc: ["payload"] });
  }
  const payload = storable(feedback.payload);
  const texts = contentColumns.map((name) => [name, name === "payload" ? payload.text : textOf(feedback[name])]);
  return {
    project_id: feedback.project_id,
    id,
    call_id: callIdOf(feedback),
    user_id: feedback.wb_user_id,
    content: Object.fromEntries(texts) as FeedbackRow["content"],
    exact: payload.exact ?? "",
  };
}

function textOf(value: Exclude<NewFeedback[ContentColumn], never>): string {
  if (value === undefined) return "";
  // What has no UTF-8 is compared as it will be read.
  return typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : storable(JSON.stringify(value)).text;
}

function callIdOf({ project_id, weave_ref }: NewFeedback): string {
  const ref = parseRef(weave_ref);
  if (ref?.kind !== "call" || ref.edges.length > 0 || projectIdOf(ref) !== project_id) return "";
  return ref.id;
}

/** Whether two rows say the same, whoever wrote them. */
export function sameContent(a: Omit<FeedbackRow, "created_at">, b: FeedbackRow): boolean {
  if (readable(a.content.payload, a.exact) !== readable(b.content.payload, b.exact)) return false;
  return contentColumns.every((name) => name === "payload" || a.content[name] === b.content[name]);
}

/** The live rows of these projects and ids. */
export async function findRows(
  engine: Engine,
  keys: ReadonlyArray<{ project_id: string; id: string }>,
): Promise<FeedbackRow[]> {
  if (keys.length === 0) return [];
  const p = new Parameters();
  const columns = contentColumns.map(storedName).join(", ");
  const isWanted = p.inPairs(
    ["project_id", "id"],
    keys.map(({ project_id, id }) => [project_id, id]),
  );
  const sql = `SELECT project_id, id, call_id, user_id, toUnixTimestamp64Micro(created_at) AS created_us, exact, ${columns}
    FROM ${newestRows("feedback")} WHERE ${isWanted}`;
  type Found = Record<string, string> &
    Record<"project_id" | "id" | "call_id" | "user_id" | "created_us" | "exact", string>;
  const rows = await engine.rows<Found>({ sql, params: p }, { settings: indexedReads });
  return rows.map(({ project_id, id, call_id, user_id, created_us, exact, ...row }) => ({
    project_id,
    id,
    call_id,
    user_id,
    created_at: BigInt(created_us),
    content: Object.fromEntries(
      contentColumns.map((name) => [name, row[storedName(name)] ?? ""]),
    ) as FeedbackRow["content"],
    exact,
  }));
}

const written = [
  "project_id",
  "id",
  "call_id",
  "user_id",
  "created_at",
  "exact",
  "deleted",
  "version",
  ...contentColumns.map(storedName),
];

/** Stores rows with one insert: all or none. */
export async function insertFeedback(engine: Engine, rows: readonly FeedbackWrite[]): Promise<void> {
  const writer = new RowWriter();
  const lines = rows.map((row) => writer.rowOf(() => writeRow(writer, row)));
  if (lines.length > 0) await engine.insert("feedback", written, lines);
}

/** The columns of the key are in the row of a removed piece, what it said is not. */
const keyColumns: ReadonlySet<ContentColumn> = new Set(["weave_ref", "feedback_type"]);

function writeRow(writer: RowWriter, row: FeedbackWrite): void {
  for (const text of [row.project_id, row.id, row.call_id, row.user_id]) writer.text(text);
  writer.time(row.created_at);
  writer.text(row.deleted ? "" : row.exact);
  writer.integer(row.deleted ? 1 : 0);
  writer.integer(row.version);
  for (const name of contentColumns) writer.text(row.deleted && !keyColumns.has(name) ? "" : row.content[name]);
}

/** Two rows with the same are one to the engine. */
export function keyOf({ project_id, id, call_id, content }: FeedbackRow): string {
  return JSON.stringify([project_id, call_id, content.weave_ref, content.feedback_type, id]);
}
