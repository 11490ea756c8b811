import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { TableStats } from "./requests.js";
import { allRows } from "../schema/read-table.js";

/** Sizes of the known tables among the digests, in the order asked for. */
export async function tableStats(
  engine: Engine,
  projectId: string,
  digests: readonly string[],
  includeStorageSize: boolean,
  signal?: AbortSignal,
): Promise<TableStats[]> {
  const p = new Parameters();
  const scope = `project_id = ${p.bind("String", projectId)} AND ${p.in("digest", "String", digests)}`;
  const sql = `SELECT digest, row_count FROM ${allRows("tables")} WHERE ${scope} LIMIT 1 BY digest`;
  const [counts, sizes] = await Promise.all([
    engine.rows<{ digest: string; row_count: string }>({ sql, params: p }, { signal }),
    includeStorageSize ? storageSizes(engine, projectId, digests, signal) : undefined,
  ]);
  const known = new Map(counts.map(({ digest, row_count }) => [digest, Number(row_count)]));
  return [...new Set(digests)].flatMap((digest) => {
    const count = known.get(digest);
    if (count === undefined) return [];
    return [{ digest, count, storage_size_bytes: sizes === undefined ? null : (sizes.get(digest) ?? 0) }];
  });
}

async function storageSizes(
  engine: Engine,
  projectId: string,
  digests: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Map<string, number>> {
  const p = new Parameters();
  const project = p.bind("String", projectId);
  const tables = `SELECT digest AS table_digest, arrayDistinct(row_digests) AS row_digests FROM ${allRows("tables")}
    WHERE project_id = ${project} AND ${p.in("digest", "String", digests)} LIMIT 1 BY digest`;
  const sql = `SELECT table_digest, sum(bytes) AS total
    FROM (SELECT table_digest, arrayJoin(row_digests) AS digest FROM (${tables})) AS listed
    INNER JOIN (
      SELECT digest, any(size_bytes) AS bytes FROM ${allRows("table_rows")}
      WHERE project_id = ${project} AND digest IN (SELECT arrayJoin(row_digests) FROM (${tables}))
      GROUP BY digest
    ) AS sizes USING digest
    GROUP BY table_digest`;
  const rows = await engine.rows<{ table_digest: string; total: string }>({ sql, params: p }, { signal });
  return new Map(rows.map(({ table_digest, total }) => [table_digest, Number(total)]));
}
