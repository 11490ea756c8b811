import { randomUUID } from "node:crypto";
import type { Database } from "./database/database.js";
import { textOf } from "./database/database.js";

/** The UUID of this control plane, made at the first start. Other stores remember it to notice a foreign one. */
export async function ensureIdentity(database: Database, now: () => bigint): Promise<string> {
  await database.run("INSERT INTO instance (id, uuid, created_at) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING", [
    randomUUID(),
    now(),
  ]);
  const [row] = await database.rows("SELECT uuid FROM instance WHERE id = 1");
  return textOf(row ?? {}, "uuid");
}
