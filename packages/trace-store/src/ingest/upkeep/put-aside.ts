import { HeddleError } from "@heddle/errors";
import { corruptPath } from "../../engine/corrupt-data.js";
import type { Engine } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import type { IngestContext } from "../context.js";

/**
 * Puts the part aside that an error of code `corrupt` is about, so that the store opens without its rows, and returns
 * whether it did. Only parts of `calls`, and of `call_ids`, which is filled again: without a part of
 * another table, what was deleted or replaced could come back.
 */
export async function putAsideCorrupt({ engine, onLoss }: IngestContext, error: unknown): Promise<boolean> {
  if (!(error instanceof HeddleError) || error.code !== "corrupt") return false;
  const path = error.cause instanceof Error ? corruptPath(error.cause.message) : undefined;
  const found = path === undefined ? undefined : await partAt(engine, path);
  if (found === undefined || !["calls", "call_ids"].includes(found.table) || !/^\w+$/.test(found.part)) return false;
  await engine.command({ sql: `ALTER TABLE ${found.table} DETACH PART '${found.part}'` });
  if (found.table === "calls")
    onLoss?.(`The table calls lacks the rows of the part ${found.part}, which cannot be read and was put aside`);
  return true;
}

/** The part in a directory; undefined where the engine does not use it any more. */
async function partAt(engine: Engine, path: string): Promise<{ table: string; part: string } | undefined> {
  const p = new Parameters();
  const sql = `SELECT table, name AS part FROM system.parts
    WHERE active AND database = currentDatabase() AND path = ${p.bind("String", path)}`;
  return (await engine.rows<{ table: string; part: string }>({ sql, params: p }))[0];
}
