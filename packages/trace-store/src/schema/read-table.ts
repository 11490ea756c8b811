import type { schema, TableName } from "./schema.js";

/** Tables whose reads need FINAL, or have to state why not. */
type FinalTable = {
  [Name in TableName]: (typeof schema)[Name]["final"] extends true ? Name : never;
}[TableName];

/** The table in a statement that must see each key once, in its newest row, and removed keys not at all. */
export function newestRows(table: FinalTable): string {
  return `${table} FINAL`;
}

/** The table in a statement that takes replaced and removed rows into account itself, or to which they do not matter. */
export function allRows(table: FinalTable): string {
  return table;
}
