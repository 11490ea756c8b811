import { HeddleError, Mistakes, withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { CallSql } from "./call-sql.js";
import type { JsonSource } from "./call-fields.js";
import { leafText } from "./json-path.js";
import { newestRows } from "../schema/read-table.js";

type JsonField = Extract<CallField, { kind: "json" }>;

/** Every field of a query is looked up among all of them; all that are not expensive together are fewer. */
const maxColumns = 1000;

/** Reads `expand_columns`, shallow paths first. Paths that lead to no free JSON hold no refs and are left out. */
export function parseExpand(columns: readonly string[] = []): JsonField[] {
  if (columns.length > maxColumns) {
    throw new HeddleError("invalid", `expand_columns has more than ${maxColumns} entries`, {
      loc: ["expand_columns"],
    });
  }
  const mistakes = new Mistakes();
  const fields = mistakes.attemptEach(columns, (text, index) =>
    withLoc(["expand_columns", index], () => parseCallField(text)),
  );
  mistakes.throwAll();
  return fields.filter((field) => field.kind === "json").toSorted((a, b) => a.path.length - b.path.length);
}

/** SQL of a JSON document, the path still to follow in it, and of all the documents that may be at that location. */
interface JsonLocation {
  document: string;
  path: readonly string[];
  /** A subquery of the same documents without the calls, for finding the refs in them; absent in the calls themselves. */
  targets?: string;
}

/**
 * Where the JSON of a field is looked up: in its column, or, when a ref on the path is to be expanded, in the value that
 * the ref leads to. Each such ref becomes a join with what the refs in the calls that `where` selects lead to.
 */
export function jsonSource(
  sql: CallSql,
  scope: CallScope,
  expand: readonly JsonField[],
  where: readonly string[],
): JsonSource {
  const joined = new Map<JsonField, JsonLocation>();
  const source = (field: JsonField): JsonLocation => {
    const ref = refsTo(expand, field).at(-1);
    if (ref === undefined) return { document: field.column, path: field.path };
    let location = joined.get(ref);
    if (location === undefined) {
      const base = source(ref);
      location = joinTarget(sql, scope, `x${joined.size}`, base, where);
      joined.set(ref, location);
    }
    return { ...location, path: field.path.slice(ref.path.length) };
  };
  return source;
}

/** Those of the columns that may hold a ref on the way to the field, shallow ones first. */
export function refsTo(expand: readonly JsonField[], field: JsonField): JsonField[] {
  return expand.filter((candidate) => leadsTo(candidate, field));
}

function leadsTo(ref: JsonField, field: JsonField): boolean {
  return (
    ref.column === field.column &&
    ref.path.length < field.path.length &&
    ref.path.every((segment, index) => segment === field.path[index])
  );
}

/** Joins the values of the refs at a location; the document is '' where they lead nowhere, or to another project. */
function joinTarget(
  sql: CallSql,
  scope: CallScope,
  name: string,
  base: JsonLocation,
  where: readonly string[],
): JsonLocation {
  const project = sql.p.bind("String", scope.project_id);
  const leaf = leafText(sql, base.document, base.path);
  const text = `${name}_text`;
  // Found without the joins made so far: a ref inside a value is read from all values that may hold it.
  const refs =
    base.targets === undefined
      ? `SELECT DISTINCT ${text} FROM (${visibleCalls(scope, sql.p, { select: [`${leaf} AS ${text}`], where })})`
      : `SELECT DISTINCT ${leaf} AS ${text} FROM ${base.targets}`;
  const parsed = `SELECT ${text}, ${refKey(project, text, name)} AS ${name}_wanted, ${name}_parts, ${name}_id FROM (${refs})`;
  const wanted = `SELECT ${name}_wanted FROM (${parsed})`;
  const inProject = `project_id = ${project}`;
  const values = (objects: string, rows: string) =>
    `SELECT ${objectKey} AS ${name}_key, val AS ${name}_val FROM ${newestRows("objects")} WHERE ${inProject} AND deleted_at IS NULL${objects} UNION ALL SELECT concat('${rowPrefix}', digest) AS ${name}_key, val AS ${name}_val FROM ${newestRows("table_rows")} WHERE ${inProject}${rows}`;
  const targets = (from: string) =>
    `(SELECT ${text}, ${pathInside(name)} AS ${name}_doc FROM (${from}) AS ${name}_values INNER JOIN (${parsed}) AS ${name}_refs ON ${name}_key = ${name}_wanted) AS ${name}`;
  const few = values(
    ` AND ${objectKey} IN (${wanted})`,
    ` AND digest IN (SELECT substring(${name}_wanted, ${rowPrefix.length + 1}) FROM (${parsed}))`,
  );
  sql.joins.push(`LEFT JOIN ${targets(few)} ON ${text} = ${leaf}`);
  // All values of the project pass by a set of refs: naming the refs once keeps the statement from doubling per level.
  return { document: `${name}_doc`, path: [], targets: targets(values("", "")) };
}

const objectKey = "concat(toString(kind), '/', object_id, ':', digest)";

/** What the key of a table row begins with; no kind of object is called so. */
const rowPrefix = "row/";

/**
 * SQL of the key of what a ref leads to, '' for what is not a ref into the project. A ref is
 * `weave:///entity/project/object/name:digest`, then pairs of edge and value. The last `id` edge selects a table row by
 * digest. Names the parts of the ref for {@link pathInside}.
 */
function refKey(project: string, ref: string, name: string): string {
  const parts = `splitByChar('/', ${ref} AS ${name}_ref) AS ${name}_parts`;
  const lastId = `arrayLastIndex((part, i) -> part = 'id' AND i > 7 AND i % 2 = 0, ${parts}, arrayEnumerate(${name}_parts)) AS ${name}_id`;
  const key = `if((${lastId}) > 0, concat('${rowPrefix}', ${name}_parts[${name}_id + 1]), concat(${name}_parts[6], '/', decodeURLComponent(${name}_parts[7])))`;
  return `if(startsWith(${name}_ref, concat('weave:///', ${project}, '/')), ${key}, '')`;
}

/** SQL of the document that the rest of a ref, after the object or the row, leads to inside the value. */
function pathInside(name: string): string {
  const isValue = `i > if(${name}_id > 0, ${name}_id + 1, 8) AND i % 2 = 1`;
  const steps = `arrayMap(i -> decodeURLComponent(${name}_parts[i]), arrayFilter(i -> ${isValue}, arrayEnumerate(${name}_parts)))`;
  const step = `if(JSONType(json) = 'Array', JSONExtractRaw(json, toUInt32OrZero(step) + 1), JSONExtractRaw(json, step))`;
  return `arrayFold((json, step) -> ${step}, ${steps}, ${name}_val)`;
}
