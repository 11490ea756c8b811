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

/** How many items the list has; NULL when the leaf is no list. */
export function leafSize(sql: StatementSql, document: string, path: readonly string[]): string {
  const leaf = sql.named(leafJson(sql, document, path));
  return `if(JSONType(${leaf.first}) = 'Array', toNullable(JSONLength(${leaf.again})), NULL)`;
}

function follow(sql: StatementSql, document: string, path: readonly string[]): JsonLocation {
  let location: JsonLocation = { text: document, keys: [] };
  for (const segment of path) {
    const key = sql.p.bind("String", segment);
    location = /^\d+$/.test(segment)
      ? { text: itemOrMember(sql, location, key, segment), keys: [] }
      : { text: location.text, keys: [...location.keys, key] };
  }
  return location;
}

/**
 * A segment of digits is an item of a list or a key of an object. The engine counts items from 1, and from an object it
 * would take the n-th key, so the type decides.
 */
function itemOrMember(sql: StatementSql, location: JsonLocation, key: string, segment: string): string {
  const index = Number(segment) + 1;
  const base = sql.named(extract("JSONExtractRaw", location));
  const item = index > 2 ** 31 ? "''" : `JSONExtractRaw(${base.again}, ${sql.p.bind("UInt32", index)})`;
  return `if(JSONType(${base.first}) = 'Array', ${item}, JSONExtractRaw(${base.again}, ${key}))`;
}

function extract(fn: string, location: JsonLocation, type?: string): string {
  if (fn === "JSONExtractRaw" && location.keys.length === 0) return location.text;
  return `${fn}(${[location.text, ...location.keys, ...(type === undefined ? [] : [type])].join(", ")})`;
}
