import type { Statements } from "../database/database.js";
import { textOf } from "../database/database.js";
import { nextTurn, ownerColumns, ownerOf } from "./turns.js";

/** Whether no job with the key waits or runs. */
export async function isSerialFree(statements: Statements, serialKey: string): Promise<boolean> {
  const sql = "SELECT id FROM jobs WHERE serial_key = $1 AND state IN ('queued', 'running') LIMIT 1";
  return (await statements.rows(sql, [serialKey])).length === 0;
}

/** Lets the next job of each key run, if one has ended. */
export async function releaseSerial(statements: Statements, serialKeys: ReadonlySet<string>): Promise<void> {
  for (const key of serialKeys) {
    const [row] = await statements.rows(
      `SELECT id, waits_for, ${ownerColumns} FROM jobs
        WHERE serial_key = $1 AND state IN ('queued', 'running') ORDER BY sequence LIMIT 1`,
      [key],
    );
    if (row === undefined || row["waits_for"] !== "serial") continue;
    const turn = await nextTurn(statements, ownerOf(row));
    await statements.run("UPDATE jobs SET waits_for = NULL, turn = $2 WHERE id = $1", [textOf(row, "id"), turn]);
  }
}
