import type { CallField } from "@heddle/trace-model";
import { fieldValue, needsNames, storedColumn } from "./call-columns.js";
import type { CallSql } from "./call-sql.js";
import type { FieldSql } from "./expression.js";
import { leafOrNull, leafSize, leafText } from "./json-path.js";

/** Where the JSON of a field is looked up: its column, or what a ref on the path points to. */
export type JsonSource = (field: Extract<CallField, { kind: "json" }>) => { document: string; path: readonly string[] };

/** The fields of calls; those that need the renames of calls note it in the statement. */
export function callFields(sql: CallSql, source: JsonSource): FieldSql<CallField> {
  const value = (field: CallField): string => {
    if (needsNames(field)) sql.names = true;
    if (field.kind !== "json") return fieldValue(field);
    const { document, path } = source(field);
    return leafText(sql, document, path);
  };
  return {
    value,
    presence(field) {
      if (field.kind !== "json") return value(field);
      const { document, path } = source(field);
      return leafOrNull(sql, document, path);
    },
    size(field) {
      if (field.kind !== "json") return "CAST(NULL, 'Nullable(UInt64)')";
      const { document, path } = source(field);
      return leafSize(sql, document, path);
    },
    textColumn(field) {
      if (field.kind !== "column" || field.type !== "text") return undefined;
      if (needsNames(field)) sql.names = true;
      return storedColumn(field);
    },
  };
}
