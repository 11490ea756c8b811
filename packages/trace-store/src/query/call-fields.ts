import type { CallField } from "@heddle/trace-model";
import { fieldValue, needsNames, storedColumn } from "./call-columns.js";
import type { FeedbackField } from "./call-feedback.js";
import type { CallSql } from "./call-sql.js";
import type { FieldSql } from "./expression.js";
import { opCondition } from "./op-condition.js";
import { leafOrNull, leafSize, leafText } from "./json-path.js";

/** Where the JSON of a field is looked up: its column, or what a ref on the path points to. */
export type JsonSource = (field: Extract<CallField, { kind: "json" }>) => { document: string; path: readonly string[] };

/** The fields of calls; those that need the renames of calls note it in the statement. */
export function callFields(sql: CallSql, source: JsonSource, projectId: string): FieldSql<CallField> {
  const piece = (field: FeedbackField): string =>
    sql.feedback.pieces(field) === undefined ? sql.feedback.first(field) : sql.feedback.one(field);
  /** The document of a field that leads into JSON, and where in it; undefined for other fields. */
  const json = (field: CallField): ReturnType<JsonSource> | undefined => {
    if (field.kind === "json") return source(field);
    if (field.kind !== "feedback" || field.part !== "payload") return undefined;
    return { document: piece(field), path: [] };
  };
  const value = (field: CallField): string => {
    if (needsNames(field)) sql.names = true;
    if (field.kind === "ops") return opCondition(sql.p, field.ops, projectId) ?? "0";
    const at = json(field);
    if (at !== undefined) return leafText(sql, at.document, at.path);
    return field.kind === "feedback" ? `nullIf(${piece(field)}, '')` : fieldValue(field);
  };
  return {
    value,
    presence(field) {
      const at = json(field);
      return at === undefined ? value(field) : leafOrNull(sql, at.document, at.path);
    },
    size(field) {
      const at = json(field);
      return at === undefined ? "CAST(NULL, 'Nullable(UInt64)')" : leafSize(sql, at.document, at.path);
    },
    textColumn(field) {
      if (field.kind !== "column" || field.type !== "text") return undefined;
      if (needsNames(field)) sql.names = true;
      return storedColumn(field);
    },
    pieces: (field) => (field.kind === "feedback" ? sql.feedback.pieces(field) : undefined),
  };
}
