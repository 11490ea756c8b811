import { parseCallField } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import { StoreError } from "../errors.js";
import { visibleCalls } from "../visible-calls.js";
import type { CallScope } from "../visible-calls.js";
import type { CallSql } from "./call-sql.js";
import type { JsonSource } from "./expression.js";
import { leafText } from "./json-path.js";

type JsonField = Extract<CallField, { kind: "json" }>;

/** Refs that lead through refs: every level reads the calls once more. */
const MAX_LEVELS = 4;

/** Reads `expand_columns`, shallow paths first. Paths that lead to no free JSON hold no refs and are left out. */
export function parseExpand(columns: readonly string[] | undefined): JsonField[] {
  const fields = (columns ?? []).map((text, index) => parseCallField(text, ["body", "expand_columns", index]));
  return fields.filter((field) => field.kind === "json").toSorted((a, b) => a.path.length - b.path.length);
}

/**
 * Where the JSON of a field is looked up: in its column, or, when a ref on the way is to be expanded, in the value that
 * the ref leads to. Each such ref becomes a join, with the refs of the calls that `where` selects.
 */
export function jsonSource(
  sql: CallSql,
  scope: CallScope,
  expand: readonly JsonField[],
  where: readonly string[],
): JsonSource {
  const joined = new Map<JsonField, string>();
  const source = (field: JsonField, level: number): { document: string; path: readonly string[] } => {
    const ref = expand.findLast((candidate) => leadsTo(candidate, field));
    if (ref === undefined) return { document: field.column, path: field.path };
    if (level === MAX_LEVELS) {
      throw new StoreError("invalid", `a path may lead through at most ${MAX_LEVELS} refs`, {
        loc: ["body", "expand_columns"],
      });
    }
    let document = joined.get(ref);
    if (document === undefined) {
      const { document: base, path } = source(ref, level + 1);
      document = joinTarget(sql, scope, `x${joined.size}`, leafText(sql, base, path), where);
      joined.set(ref, document);
    }
    return { document, path: field.path.slice(ref.path.length) };
  };
  return (field) => source(field, 0);
}

function leadsTo(ref: JsonField, field: JsonField): boolean {
  return (
    ref.column === field.column &&
    ref.path.length < field.path.length &&
    ref.path.every((segment, index) => segment === field.path[index])
  );
}

/**
 * Joins what a ref leads to and returns the SQL of its value: '' when it leads nowhere, or to another project.
 * A ref is `weave:///entity/project/object/name:digest`, then pairs of edge and value; the last `id` edge selects a
 * table row by digest, and what follows (or else all of it) is a path inside the value.
 */
function joinTarget(sql: CallSql, scope: CallScope, name: string, ref: string, where: readonly string[]): string {
  const { p } = sql;
  const project = p.bind("String", scope.project_id);
  const place = sql.named(ref);
  const parts = `${name}_parts`;
  const lastId = `${name}_id`;
  const key = [
    `if(startsWith(${place.first}, concat('weave:///', ${project}, '/'))`,
    `if((arrayLastIndex((part, i) -> part = 'id' AND i > 7 AND i % 2 = 0, splitByChar('/', ${place.again}) AS ${parts}, arrayEnumerate(${parts})) AS ${lastId}) > 0`,
    `concat('row/', ${parts}[${lastId} + 1])`,
    `concat(${parts}[6], '/', ${parts}[7]))`,
    "'')",
  ].join(", ");
  const wanted = `SELECT DISTINCT ref_key FROM (${visibleCalls(scope, p, {
    select: [`${key} AS ref_key`],
    where,
    joins: [...sql.joins],
  })})`;
  const objects = `SELECT concat(toString(kind), '/', object_id, ':', digest) AS ${name}_key, val AS ${name}_val FROM objects FINAL WHERE project_id = ${project} AND deleted_at IS NULL AND concat(toString(kind), '/', object_id, ':', digest) IN (${wanted})`;
  const rows = `SELECT concat('row/', digest) AS ${name}_key, any(val) AS ${name}_val FROM table_rows WHERE project_id = ${project} AND concat('row/', digest) IN (${wanted}) GROUP BY digest`;
  sql.joins.push(`LEFT JOIN (${objects} UNION ALL ${rows}) AS ${name} ON ${name}_key = ${key}`);
  const rest = `arrayMap(i -> decodeURLComponent(${parts}[i]), arrayFilter(i -> i > if(${lastId} > 0, ${lastId} + 1, 8) AND i % 2 = 1, arrayEnumerate(${parts})))`;
  return `arrayFold((json, step) -> if(JSONType(json) = 'Array', JSONExtractRaw(json, toUInt32OrZero(step) + 1), JSONExtractRaw(json, step)), ${rest}, ${name}_val)`;
}
