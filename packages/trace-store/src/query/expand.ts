import { HeddleError, withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import { visibleCalls } from "./visible-calls.js";
import type { CallScope } from "./visible-calls.js";
import type { CallSql } from "./call-sql.js";
import type { JsonSource } from "./call-fields.js";
import { leafText } from "./json-path.js";
import { newestRows } from "../schema/read-table.js";

type JsonField = Extract<CallField, { kind: "json" }>;

/** Refs that one statement may look through. Each reads the calls of the filter again. */
const maxRefs = 8;

/** Every field of a query is looked up among all of them. */
const maxColumns = 1000;

/** Reads `expand_columns`, shallow paths first. Paths that lead to no free JSON hold no refs and are left out. */
export function parseExpand(columns: readonly string[] = []): JsonField[] {
  if (columns.length > maxColumns) {
    throw new HeddleError("invalid", `expand_columns has more than ${maxColumns} entries`, {
      loc: ["expand_columns"],
    });
  }
  const fields = columns.map((text, index) => withLoc(["expand_columns", index], () => parseCallField(text)));
  return fields.filter((field) => field.kind === "json").toSorted((a, b) => a.path.length - b.path.length);
}

/** SQL of a JSON document, the path still to follow in it, and of all the documents that may be at that location. */
interface JsonLocation {
  document: string;
  path: readonly string[];
  /** `FROM …` of the same documents without the calls, for finding the refs in them; absent in the calls themselves. */
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
    const ref = expand.findLast((candidate) => leadsTo(candidate, field));
    if (ref === undefined) return { document: field.column, path: field.path };
    let location = joined.get(ref);
    if (location === undefined) {
      const base = source(ref);
      if (joined.size === maxRefs) {
        throw new HeddleError("invalid", `a query may look through at most ${maxRefs} refs`, {
          loc: ["expand_columns"],
        });
      }
      location = joinTarget(sql, scope, `x${joined.size}`, base, where);
      joined.set(ref, location);
    }
    return { ...location, path: field.path.slice(ref.path.length) };
  };
  return source;
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
      : `SELECT DISTINCT ${leaf} AS ${text} ${base.targets}`;
  const key = refKey(project, text, name);
  const inProject = `project_id = ${project}`;
  const values = (objects: string, rows: string) =>
    `(SELECT ${objectKey} AS ${name}_key, val AS ${name}_val FROM ${newestRows("objects")} WHERE ${inProject} AND deleted_at IS NULL${objects} UNION ALL SELECT concat('${rowPrefix}', digest) AS ${name}_key, val AS ${name}_val FROM ${newestRows("table_rows")} WHERE ${inProject}${rows}) AS ${name}`;
  const wanted = values(
    ` AND ${objectKey} IN (SELECT ${key} FROM (${refs}))`,
    ` AND digest IN (SELECT substring(${key}, ${rowPrefix.length + 1}) FROM (${refs}))`,
  );
  sql.joins.push(`LEFT JOIN ${wanted} ON ${name}_key = ${refKey(project, leaf, name)}`);
  return {
    document: pathInside(name),
    path: [],
    // All values of the project pass by a set of refs: naming the refs once keeps the statement from doubling per level.
    targets: `FROM ${values("", "")} INNER JOIN (${refs}) AS ${name}_refs ON ${name}_key = ${key}`,
  };
}

const objectKey = "concat(toString(kind), '/', object_id, ':', digest)";

/** What the key of a table row begins with; no kind of object is called so. */
const rowPrefix = "row/";

/**
 * SQL of the key of what a ref leads to, '' for what is no ref into the project. A ref is
 * `weave:///entity/project/object/name:digest`, then pairs of edge and value. The last `id` edge selects a table row by
 * digest. Names the parts of the ref for {@link pathInside}.
 */
function refKey(project: string, ref: string, name: string): string {
  const parts = `splitByChar('/', ${ref} AS ${name}_ref) AS ${name}_parts`;
  const lastId = `arrayLastIndex((part, i) -> part = 'id' AND i > 7 AND i % 2 = 0, ${parts}, arrayEnumerate(${name}_parts)) AS ${name}_id`;
  const key = `if((${lastId}) > 0, concat('${rowPrefix}', ${name}_parts[${name}_id + 1]), concat(${name}_parts[6], '/', ${name}_parts[7]))`;
  return `if(startsWith(${name}_ref, concat('weave:///', ${project}, '/')), ${key}, '')`;
}

/** SQL of the document that the rest of a ref, after the object or the row, leads to inside the joined value. */
function pathInside(name: string): string {
  const isValue = `i > if(${name}_id > 0, ${name}_id + 1, 8) AND i % 2 = 1`;
  const steps = `arrayMap(i -> decodeURLComponent(${name}_parts[i]), arrayFilter(i -> ${isValue}, arrayEnumerate(${name}_parts)))`;
  const step = `if(JSONType(json) = 'Array', JSONExtractRaw(json, toUInt32OrZero(step) + 1), JSONExtractRaw(json, step))`;
  return `arrayFold((json, step) -> ${step}, ${steps}, ${name}_val)`;
}
