import { scopeOf } from "./selection.js";
import type { SelectionContext } from "./selection.js";
import type { ReadOptions } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import { visibleCalls } from "../visibility/visible-calls.js";

/** When the oldest of the newest calls of a project started; microseconds since 1970. */
export async function startOfNewest(
  context: SelectionContext,
  projectId: string,
  calls: number,
  { signal }: ReadOptions,
): Promise<bigint> {
  const scope = scopeOf(context, projectId);
  const statement = () => {
    const p = new Parameters();
    const orderBy = "started_at DESC";
    const newest = visibleCalls(scope(), p, { select: ["started_at"], orderBy, limit: calls });
    const sample = `SELECT started_at FROM (${newest}) ORDER BY ${orderBy} LIMIT ${p.bind("UInt32", calls)}`;
    return { sql: `SELECT toUnixTimestamp64Micro(min(started_at)) AS us FROM (${sample})`, params: p };
  };
  const [row] = await context.engine.rows<{ us: string }>(statement, { signal });
  return BigInt(row?.us ?? 0);
}
