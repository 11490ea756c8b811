import { HeddleError } from "@heddle/errors";
import { maxSortKeys, pathExcess, splitPath } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { CallSql } from "../query/call-sql.js";
import { leafOrNull } from "../query/json-path.js";
import { checkPrice, pathPrice, sortKeyPrice } from "../query/price.js";
import { numeric } from "../query/sort.js";
import type { TableOf, TableQuery } from "./requests.js";
import { allRows } from "../schema/read-table.js";

export interface TablePathOrder {
  path: string[];
  direction: "asc" | "desc";
}

/** Reads a sort list; an empty path or segment is `invalid`, and so are too many keys or steps. Too expensive ones are `too_large`. */
export function parseTableSort(sortBy: TableQuery["sort_by"] = []): TablePathOrder[] {
  if (sortBy.length > maxSortKeys) {
    throw new HeddleError("invalid", `sort_by has more than ${maxSortKeys} keys`, { loc: ["sort_by"] });
  }
  const order = sortBy.map(({ field, direction }, index) => {
    const path = splitPath(field);
    const empty = path.includes("") ? "a sort field is a dotted path without empty segments" : undefined;
    const fault = pathExcess(field) ?? empty;
    if (fault !== undefined) throw new HeddleError("invalid", fault, { loc: ["sort_by", index, "field"] });
    return { path, direction };
  });
  checkPrice({ sort_by: order.reduce((sum, { path }) => sum + sortKeyPrice(pathPrice(path)), 0) });
  return order;
}

/** A position of a table and the digest of the row there. */
export interface Position {
  index: number;
  digest: string;
}

/** All positions of a table by values in its rows: present ones first, as numbers, then as text, then in the order of the table. */
export async function sortedPositions(
  engine: Engine,
  { project_id, digest }: TableOf,
  order: readonly TablePathOrder[],
  signal?: AbortSignal,
): Promise<Position[]> {
  const p = new Parameters();
  const sql = new CallSql(p);
  const select: string[] = [];
  const keys: string[] = [];
  for (const [n, { path, direction }] of order.entries()) {
    select.push(`${leafOrNull(sql, "val", path)} AS text${n}, ${numeric(`text${n}`)} AS number${n}`);
    const way = direction === "desc" ? "DESC" : "ASC";
    keys.push(`isNull(text${n}) ASC`, `number${n} ${way} NULLS LAST`, `text${n} ${way} NULLS LAST`);
  }
  const project = p.bind("String", project_id);
  const table = `SELECT row_digests FROM ${allRows("tables")}
    WHERE project_id = ${project} AND digest = ${p.bind("String", digest)} LIMIT 1`;
  const statement = `SELECT position, digest FROM (
      SELECT pair.1 AS position, pair.2 AS digest FROM (
        SELECT arrayJoin(arrayZip(arrayEnumerate(row_digests), row_digests)) AS pair FROM (${table}))
    ) AS positions ANY LEFT JOIN (
      SELECT digest, ${select.join(", ")} FROM ${allRows("table_rows")}
      WHERE project_id = ${project} AND digest IN (SELECT arrayJoin(row_digests) FROM (${table})) LIMIT 1 BY digest
    ) AS sortable USING digest
    ORDER BY ${keys.join(", ")}, position
    SETTINGS join_use_nulls = 1`;
  const positions: Position[] = [];
  type Row = { position: number; digest: string };
  for await (const row of engine.stream<Row>({ sql: statement, params: p }, { signal })) {
    positions.push({ index: row.position - 1, digest: row.digest });
  }
  return positions;
}
