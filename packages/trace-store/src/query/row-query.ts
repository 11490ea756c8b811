import { HeddleError, Mistakes, withLoc } from "@heddle/errors";
import { parseQuery, parseSort, pathExcess, splitPath } from "@heddle/trace-model";
import type { Expression, SortKey, TypedField, ValueType } from "@heddle/trace-model";
import { compileQuery } from "./expression.js";
import type { FieldSql } from "./expression.js";
import { leafOrNull, leafSize, leafText } from "./json-path.js";
import { checkPage } from "./page.js";
import { checkPrice, expressionPrice, pathPrice, sortPrice } from "./price.js";
import { numeric } from "./sort.js";
import type { StatementSql } from "./statement-sql.js";

/** A column that a query may name. */
export interface RowColumn {
  /** `json`: free JSON as query-safe text, into which a field may lead with a dotted path. */
  type: ValueType | "json";
  /** Default: the name of the field. */
  column?: string;
  /** Text where '' means that there is none. */
  optional?: true;
  /** Text that is a ref. */
  refs?: true;
}

/** The fields of one resource by the names they have in the API. */
export type RowColumns = Readonly<Record<string, RowColumn>>;

/** A field of a resource: a column, or a path into one that holds JSON. */
export interface RowField extends TypedField {
  name: string;
  column: string;
  json: boolean;
  optional: boolean;
  /** Empty for a whole column. */
  path: readonly string[];
}

/** A request to list rows, unchecked. */
export interface RowQuery {
  fields?: readonly string[];
  /** `{"$expr": …}` */
  query?: unknown;
  sort_by?: unknown;
  limit?: number;
  offset?: number;
}

/** The same, read and checked. */
export interface RowPlan {
  /** What to show; undefined for all columns. */
  fields: RowField[] | undefined;
  expression: Expression<RowField> | undefined;
  sort: Array<SortKey<RowField>>;
  limit: number | undefined;
  offset: number | undefined;
}

/** More names would say nothing new, and each is looked up. */
const maxFields = 1000;

/**
 * Throws `invalid` for what is not a query, sort or page, `unprocessable` for fields that the resource lacks, and `too_large`
 * for what is too expensive.
 */
export function planRows(request: RowQuery, columns: RowColumns, resource: string): RowPlan {
  checkPage(request);
  const parse = (text: string) => parseRowField(text, columns, resource);
  const { fields, query, sort_by: sortBy, limit, offset } = request;
  if (fields !== undefined && fields.length > maxFields) {
    throw new HeddleError("invalid", `fields has more than ${maxFields} entries`, { loc: ["fields"] });
  }
  const mistakes = new Mistakes();
  const plan = {
    fields: fields && mistakes.attemptEach(fields, (text, index) => withLoc(["fields", index], () => parse(text))),
    expression: mistakes.attempt(() => (query === undefined ? undefined : parseQuery(query, parse))),
    sort: mistakes.attempt(() => (sortBy === undefined ? [] : parseSort(sortBy, parse))) ?? [],
    limit,
    offset,
  };
  mistakes.throwAll();
  const priceOf = ({ json, path }: RowField) => (json ? pathPrice(path) : 0);
  checkPrice({
    query: plan.expression === undefined ? 0 : expressionPrice(plan.expression, priceOf),
    sort_by: sortPrice(plan.sort, priceOf),
  });
  return plan;
}

/** The clauses of a plan. `ties` are columns, with their direction, that make the order total. */
export function compileRows(
  sql: StatementSql,
  plan: RowPlan,
  ties: readonly string[],
): { where: string[]; orderBy: string; page: string } {
  const { p } = sql;
  const { expression, limit, offset } = plan;
  const limited = limit === undefined ? "" : `LIMIT ${p.bind("UInt64", limit)}`;
  const page = offset === undefined ? limited : `${limited} OFFSET ${p.bind("UInt64", offset)}`;
  return {
    where: expression === undefined ? [] : [compileQuery(sql, expression, rowFields(sql))],
    orderBy: [...plan.sort.flatMap((key) => sortKeys(sql, key)), ...ties].join(", "),
    page,
  };
}

/** Reads the name or path of a field. Throws `unprocessable` for one that the resource lacks. */
export function parseRowField(text: string, columns: RowColumns, resource: string): RowField {
  const excess = pathExcess(text);
  if (excess !== undefined) throw noField(excess, columns, resource);
  const [name = "", ...path] = splitPath(text);
  const found = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (found === undefined || (path.length > 0 && found.type !== "json")) throw noField(text, columns, resource);
  const json = found.type === "json";
  return {
    text,
    type: found.type === "json" ? "text" : found.type,
    name,
    column: found.column ?? name,
    json,
    optional: found.optional === true,
    refs: found.refs === true,
    path,
  };
}

function noField(what: string, columns: RowColumns, resource: string): HeddleError {
  const known = Object.entries(columns).map(([name, { type }]) => (type === "json" ? `${name}.<path>` : name));
  return new HeddleError("unprocessable", `${resource} have no field ${what}; there are ${known.join(", ")}`, {
    loc: [],
  });
}

/** The fields of a resource, over its columns. */
export function rowFields(sql: StatementSql): FieldSql<RowField> {
  const column = (field: RowField) => (field.optional ? `nullIf(${field.column}, '')` : field.column);
  return {
    value: (field) => (field.json ? leafText(sql, field.column, field.path) : column(field)),
    presence: (field) => (field.json ? leafOrNull(sql, field.column, field.path) : column(field)),
    size: (field) => (field.json ? leafSize(sql, field.column, field.path) : "CAST(NULL, 'Nullable(UInt64)')"),
    textColumn: (field) => (field.json || field.type !== "text" ? undefined : field.column),
  };
}

/** Absent values come last in both directions; JSON sorts by presence, then as numbers, then as text. */
function sortKeys(sql: StatementSql, { field, direction }: SortKey<RowField>): string[] {
  const word = direction === "asc" ? "ASC" : "DESC";
  if (!field.json) return [`${rowFields(sql).value(field)} ${word} NULLS LAST`];
  const leaf = sql.named(leafOrNull(sql, field.column, field.path));
  return [`isNull(${leaf.first}) ASC`, `${numeric(leaf.again)} ${word} NULLS LAST`, `${leaf.again} ${word} NULLS LAST`];
}
