import type { CallField, SortKey } from "@heddle/trace-model";
import { fieldValue, needsNames } from "./call-columns.js";
import type { CallSql } from "./call-sql.js";
import type { JsonSource } from "./call-fields.js";
import { leafOrNull } from "./json-path.js";

/** What one key of an order compares. Every text of a cursor is bound as this type. */
type OrderType = "text" | "int" | "double" | "time";

export interface OrderKey {
  /** SQL: a column, or a name that the order selects. */
  name: string;
  type: OrderType;
  direction: "ASC" | "DESC";
  /** NULL comes last in the order, and first when it is read backwards. */
  nullable: boolean;
}

/** An order that can be applied in a branch and again to the union of both. */
export interface CallOrder {
  /** From the most significant one to the id. */
  keys: OrderKey[];
  /** `expression AS s0`: what a branch has to select besides id and started_at. */
  select: string[];
  /** Without the words ORDER BY; names id, started_at and the selected columns. */
  orderBy: string;
}

type CallSort = SortKey<CallField>;

export interface SortOptions {
  /** From the last call to the first. */
  reversed?: boolean;
  /** Compares texts by so many characters, so that a position in the order is short. */
  textCharacters?: number;
}

/**
 * Compiles a sort list, with the id as the last key so that pages are stable. Absent values come last in both
 * directions. Values in free JSON sort by three keys: present ones first, then as numbers, then as text.
 */
export function compileSort(
  sql: CallSql,
  sort: readonly CallSort[],
  source: JsonSource,
  { reversed = false, textCharacters }: SortOptions = {},
): CallOrder {
  const select: string[] = [];
  const keys: OrderKey[] = [];
  const add = (expression: string, type: OrderType, direction: OrderKey["direction"]) => {
    const name = `s${select.length}`;
    const isLong = type === "text" && textCharacters !== undefined;
    select.push(`${isLong ? `leftUTF8(${expression}, ${textCharacters})` : expression} AS ${name}`);
    keys.push({ name, type, direction, nullable: true });
  };
  for (const { field, direction } of sort) {
    const word = (direction === "asc") === reversed ? "DESC" : "ASC";
    if (needsNames(field)) sql.names = true;
    const json = jsonOf(sql, field, source);
    if (json !== undefined) {
      const { document, path } = json;
      const leaf = sql.named(leafOrNull(sql, document, path));
      add(`isNotNull(${leaf.first})`, "int", reversed ? "ASC" : "DESC");
      add(numeric(leaf.again), "double", word);
      add(leaf.again, "text", word);
    } else if (isKey(field)) {
      keys.push({ name: field.name, type: field.name === "id" ? "text" : "time", direction: word, nullable: false });
    } else if (field.kind === "feedback") add(`nullIf(${sql.feedback.first(field)}, '')`, "text", word);
    else if (field.kind === "column" || field.kind === "weave") add(fieldValue(field), orderType(field), word);
  }
  keys.push({ name: "id", type: "text", direction: tieBreak(sort, reversed), nullable: false });
  const nulls = reversed ? " NULLS FIRST" : "";
  const orderBy = keys.map(({ name, direction, nullable }) => `${name} ${direction}${nullable ? nulls : ""}`);
  return { keys, select, orderBy: orderBy.join(", ") };
}

/** The fields that are not text are times, and numbers of steps and milliseconds. */
const orderType = ({ type }: CallField): OrderType => (type === "text" || type === "time" ? type : "int");

function jsonOf(sql: CallSql, field: CallField, source: JsonSource): ReturnType<JsonSource> | undefined {
  if (field.kind === "json") return source(field);
  if (field.kind !== "feedback" || field.part !== "payload") return undefined;
  return { document: sql.feedback.first(field), path: [] };
}

/** The columns of the table's own order are used as they are, so that the engine can read in that order. */
function isKey(field: CallField): field is CallField & { kind: "column"; name: "started_at" | "id" } {
  return field.kind === "column" && (field.name === "started_at" || field.name === "id");
}

function tieBreak(sort: readonly CallSort[], reversed: boolean): OrderKey["direction"] {
  const last = sort.at(-1);
  const isForward = last === undefined || (last.field.text === "started_at" && last.direction === "asc");
  return isForward === reversed ? "DESC" : "ASC";
}

/** Returns SQL of the number in a text. What is not a number, `nan` and `inf` included, is NULL and comes after the numbers.
 * `text` is used twice: pass a name. */
export function numeric(text: string): string {
  return `if(isFinite(toFloat64OrNull(${text})), toFloat64OrNull(${text}), NULL)`;
}
