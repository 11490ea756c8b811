import { integerOf, textOf } from "../database/database.js";
import type { Statements } from "../database/database.js";

export interface ActiveJobs {
  kind: string;
  state: "queued" | "running";
  count: number;
}

/** One statement per state: each has an index of its own. */
export async function countActive(statements: Statements): Promise<ActiveJobs[]> {
  const counts: ActiveJobs[] = [];
  for (const state of ["queued", "running"] as const) {
    const rows = await statements.rows(
      `SELECT kind, COUNT(*) AS count FROM jobs WHERE state = '${state}' GROUP BY kind ORDER BY kind`,
    );
    for (const row of rows) counts.push({ kind: textOf(row, "kind"), state, count: Number(integerOf(row, "count")) });
  }
  return counts;
}
