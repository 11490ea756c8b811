import type { Statements } from "../database/database.js";

/** Ends the sessions of a key and its codes. Returns how many sessions. */
export async function endSessionsOfKey(statements: Statements, keyId: string): Promise<number> {
  await statements.run("DELETE FROM session_codes WHERE key_id = $1", [keyId]);
  return (await statements.rows("DELETE FROM sessions WHERE key_id = $1 RETURNING id", [keyId])).length;
}
