import { HeddleError } from "@heddle/errors";
import type { Engine } from "../engine/engine.js";
import { createTable } from "../schema/create-table.js";
import { RowWriter } from "../engine/row-writer.js";
import { ddl } from "./ddl.js";
import type { Placement } from "./ddl.js";

/**
 * Binds the database to one control plane for good: the first comes to own it, any other is refused (`incompatible`).
 * Two services that claim an empty database at once agree on the earlier claim.
 */
export async function claimDatabase(engine: Engine, placement: Placement, controlPlaneId: string): Promise<void> {
  await engine.command({ sql: ddl("CREATE DATABASE IF NOT EXISTS {DB} {OC}", placement) });
  await engine.command({ sql: ddl(createTable("control_plane"), placement) });
  let owner = await ownerOf(engine, placement);
  if (owner === undefined) {
    const row = new RowWriter();
    await engine.insert(`${placement.database}.control_plane`, ["id"], [row.rowOf(() => row.text(controlPlaneId))]);
    owner = await ownerOf(engine, placement);
  }
  if (owner !== controlPlaneId) {
    throw new HeddleError(
      "incompatible",
      `The tracing database "${placement.database}" belongs to another Heddle (control plane ${owner}): use a database of its own for this one`,
    );
  }
}

async function ownerOf(engine: Engine, { database }: Placement): Promise<string | undefined> {
  const rows = await engine.rows<{ id: string }>({
    sql: `SELECT id FROM ${database}.control_plane ORDER BY bound_at, id LIMIT 1`,
  });
  return rows[0]?.id;
}
