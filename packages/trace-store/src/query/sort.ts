import type { CallField, SortKey } from "@heddle/trace-model";
import { fieldValue, needsNames } from "./call-columns.js";
import type { CallSql } from "./call-sql.js";
import type { JsonSource } from "./call-fields.js";
import { leafOrNull } from "./json-path.js";

/** An order that can be applied in a branch and again to the union of both. */
export interface CallOrder {
  /** `expression AS s0`: what a branch has to select besides id and started_at. */
  select: string[];
  /** Without the words ORDER BY; names id, started_at and the selected columns. */
  orderBy: string;
}

type CallSort = SortKey<CallField>;

/**
 * Compiles a sort list, with the id as the last key so that pages are stable. Absent values come last in both
 * directions. Values in free JSON sort by three keys: present ones first, then as numbers, then as text.
 */
export function compileSort(sql: CallSql, keys: readonly CallSort[], source: JsonSource): CallOrder {
  const select: string[] = [];
  const order: string[] = [];
  const add = (expression: string, direction: string) => {
    const name = `s${select.length}`;
    select.push(`${expression} AS ${name}`);
    order.push(`${name} ${direction}`);
  };
  for (const { field, direction } of keys) {
    const word = direction === "asc" ? "ASC" : "DESC";
    if (needsNames(field)) sql.names = true;
    const json = jsonOf(sql, field, source);
    if (json !== undefined) {
      const { document, path } = json;
      const leaf = sql.named(leafOrNull(sql, document, path));
      add(`isNotNull(${leaf.first})`, "DESC");
      add(numeric(leaf.again), word);
      add(leaf.again, word);
    } else if (isKey(field)) order.push(`${field.name} ${word}`);
    else if (field.kind === "feedback") add(`nullIf(${sql.feedback.first(field)}, '')`, word);
    else if (field.kind === "column" || field.kind === "weave") add(fieldValue(field), word);
  }
  order.push(`id ${tieBreak(keys)}`);
  return { select, orderBy: order.join(", ") };
}

function jsonOf(sql: CallSql, field: CallField, source: JsonSource): ReturnType<JsonSource> | undefined {
  if (field.kind === "json") return source(field);
  if (field.kind !== "feedback" || field.part !== "payload") return undefined;
  return { document: sql.feedback.first(field), path: [] };
}

/** The columns of the table's own order are used as they are, so that the engine can read in that order. */
function isKey(field: CallField): field is CallField & { kind: "column"; name: "started_at" | "id" } {
  return field.kind === "column" && (field.name === "started_at" || field.name === "id");
}

function tieBreak(keys: readonly CallSort[]): "ASC" | "DESC" {
  const last = keys.at(-1);
  if (last === undefined) return "ASC";
  return last.field.text === "started_at" && last.direction === "asc" ? "ASC" : "DESC";
}

/** Returns SQL of the number in a text. What is not a number, `nan` and `inf` included, is NULL and comes after the numbers.
 * `text` is used twice: pass a name. */
export function numeric(text: string): string {
  return `if(isFinite(toFloat64OrNull(${text})), toFloat64OrNull(${text}), NULL)`;
}
