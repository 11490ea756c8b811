import { HeddleError } from "@heddle/errors";
import type { Engine } from "../engine/engine.js";
import { isUnknownTable } from "../engine/statement-error.js";
import { createTable } from "../schema/create-table.js";
import { RowWriter } from "../engine/row-writer.js";
import { ddl } from "./ddl.js";
import type { Placement } from "./ddl.js";

/**
 * Binds the database to one control plane: the first one owns it from then on, any other is refused (`incompatible`).
 * Two services that claim an empty database at once agree on the earlier claim. Returns whether it had no owner before.
 */
export async function claimDatabase(engine: Engine, placement: Placement, controlPlaneId: string): Promise<boolean> {
  let owner = await ownerWhere(engine, placement);
  if (owner === undefined || placement.cluster !== undefined) {
    await engine.command({ sql: ddl("CREATE DATABASE IF NOT EXISTS {DB} {OC}", placement) });
    await engine.command({ sql: ddl(createTable("control_plane"), placement) });
    owner = await ownerOf(engine, placement);
  }
  const isNew = owner === undefined;
  if (isNew) {
    const row = new RowWriter();
    await engine.insert(`${placement.database}.control_plane`, ["id"], [row.rowOf(() => row.text(controlPlaneId))]);
    owner = await ownerOf(engine, placement);
  }
  if (owner !== controlPlaneId) {
    throw new HeddleError(
      "incompatible",
      `The tracing database "${placement.database}" belongs to another Heddle (control plane ${owner}): use a database of its own for this one, or restore the control plane that it belongs to`,
    );
  }
  return isNew;
}

/** Undefined also where there is no database yet. */
async function ownerWhere(engine: Engine, placement: Placement): Promise<string | undefined> {
  try {
    return await ownerOf(engine, placement);
  } catch (error) {
    if (!isUnknownTable(error)) throw error;
    return undefined;
  }
}

async function ownerOf(engine: Engine, { database }: Placement): Promise<string | undefined> {
  const rows = await engine.rows<{ id: string }>({
    sql: `SELECT id FROM ${database}.control_plane ORDER BY bound_at, id LIMIT 1`,
  });
  return rows[0]?.id;
}
