import { dirname } from "node:path";
import { HeddleError } from "@heddle/errors";
import type { Engine } from "./engine.js";
import { Parameters } from "./parameters.js";

/** A part of a table on the engine's disk. */
export interface PartName {
  table: string;
  part: string;
}

/** ClickHouse errors of stored bytes that are not what was written, or no longer there. */
const corruptErrors = new Set([27, 32, 33, 40, 49, 107, 117, 226, 246, 271, 432]);

/**
 * The error of a statement that met stored data which cannot be read: `corrupt`, with the part in the message. Undefined
 * for any other error.
 */
export function corruptData(number: number, message: string, cause: unknown): HeddleError | undefined {
  if (!corruptErrors.has(number)) return undefined;
  const path = pathOf(message);
  if (path === undefined) return undefined;
  const name = /([^/]+)\/$/.exec(path)?.[1] ?? path;
  const table = / in table [^ .]+\.([A-Za-z_]\w*) \(/.exec(message)?.[1];
  const where = table === undefined ? `the part ${name}` : `the table ${table}, part ${name},`;
  return new HeddleError("corrupt", `The stored data of ${where} cannot be read: an operator has to restore it`, {
    cause,
  });
}

/** The directory of the part that a statement could not read, with a slash at the end. */
function pathOf(message: string): string | undefined {
  const part = /while reading from part (\/.+?\/) in table /.exec(message)?.[1];
  const file = /While reading or decompressing (\/.+?) \(position: /.exec(message)?.[1];
  return part ?? (file && `${dirname(file)}/`);
}

/** The part that a `corrupt` error is about; undefined where the engine does not have it any more. */
export async function corruptPartOf(engine: Engine, error: HeddleError): Promise<PartName | undefined> {
  const path = error.cause instanceof Error ? pathOf(error.cause.message) : undefined;
  if (path === undefined) return undefined;
  const p = new Parameters();
  const sql = `SELECT table, name AS part FROM system.parts
    WHERE active AND database = currentDatabase() AND path = ${p.bind("String", path)}`;
  return (await engine.rows<PartName>({ sql, params: p }))[0];
}
