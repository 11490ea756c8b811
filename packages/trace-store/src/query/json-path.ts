import type { StatementSql } from "./statement-sql.js";

/**
 * A location inside a JSON text: `text` is SQL of a document, `keys` are bound keys still to follow.
 * They are followed late so that a path without numbers is one call of the engine.
 */
interface JsonLocation {
  text: string;
  keys: readonly string[];
}

/** The leaf as text: strings decoded, other values minified, '' when the path is missing or leads to null. */
export function leafText(sql: StatementSql, document: string, path: readonly string[]): string {
  return extract("JSONExtract", follow(sql, document, path), "'String'");
}

/** As {@link leafText}, with NULL when the path is missing or leads to null. */
export function leafOrNull(sql: StatementSql, document: string, path: readonly string[]): string {
  return extract("JSONExtract", follow(sql, document, path), "'Nullable(String)'");
}

/** The leaf as a JSON text, '' when the path is missing. */
export function leafJson(sql: StatementSql, document: string, path: readonly string[]): string {
  return extract("JSONExtractRaw", follow(sql, document, path));
}

/** How many items the list has; NULL when the leaf is not a list. */
export function leafSize(sql: StatementSql, document: string, path: readonly string[]): string {
  const leaf = sql.named(leafJson(sql, document, path));
  return `if(JSONType(${leaf.first}) = 'Array', toNullable(JSONLength(${leaf.again})), NULL)`;
}

function follow(sql: StatementSql, document: string, path: readonly string[]): JsonLocation {
  const first = path.findIndex(isPosition);
  if (first < 0) return { text: document, keys: bound(sql, path) };
  const last = path.findLastIndex(isPosition);
  const base = { text: document, keys: bound(sql, path.slice(0, first)) };
  const text =
    first === last && /^\w+$/.test(document)
      ? itemOrMember(sql, base, path[first] ?? "")
      : itemsOrMembers(sql, base, path.slice(first, last + 1));
  return { text, keys: bound(sql, path.slice(last + 1)) };
}

/**
 * A segment of digits is an item of a list or a key of an object. The engine counts items from 1, and from an object it
 * would take the n-th key, so the type decides.
 */
function isPosition(segment: string): boolean {
  return /^\d+$/.test(segment);
}

/** One such segment in a column. */
function itemOrMember(sql: StatementSql, { text, keys }: JsonLocation, segment: string): string {
  const document = [text, ...keys].join(", ");
  const item = `JSONExtractRaw(${document}, ${sql.p.bind("UInt32", itemNumber(segment))})`;
  return `if(JSONType(${document}) = 'Array', ${item}, JSONExtractRaw(${document}, ${sql.p.bind("String", segment)}))`;
}

/** Any segments in any document, which is named once: an expression for each segment would contain the one before it thrice. */
function itemsOrMembers(sql: StatementSql, location: JsonLocation, segments: readonly string[]): string {
  const keys = sql.p.bind("Array(String)", segments);
  const items = sql.p.bind("Array(UInt32)", segments.map(itemNumber));
  const step = "if(JSONType(json) = 'Array', JSONExtractRaw(json, item), JSONExtractRaw(json, key))";
  return `arrayFold((json, key, item) -> ${step}, ${keys}, ${items}, ${extract("JSONExtractRaw", location)})`;
}

/** 0 is none: no list has so many items, or the segment is not a position. */
function itemNumber(segment: string): number {
  const number = isPosition(segment) ? Number(segment) + 1 : 0;
  return number > 2 ** 31 ? 0 : number;
}

function bound(sql: StatementSql, path: readonly string[]): string[] {
  return path.map((segment) => sql.p.bind("String", segment));
}

function extract(fn: string, location: JsonLocation, type?: string): string {
  if (fn === "JSONExtractRaw" && location.keys.length === 0) return location.text;
  return `${fn}(${[location.text, ...location.keys, ...(type === undefined ? [] : [type])].join(", ")})`;
}
