import { HeddleError } from "@heddle/errors";
import { corruptPartOf } from "../engine/corrupt-part.js";
import type { IngestContext } from "./write-calls.js";

/**
 * Puts the part aside that an error of code `corrupt` is about, so that the store opens without its rows, and returns
 * whether it did. Only parts of `calls`: without a part of another table, what was deleted or replaced could come back.
 */
export async function putAsideCorrupt({ engine, onLoss }: IngestContext, error: unknown): Promise<boolean> {
  if (!(error instanceof HeddleError) || error.code !== "corrupt") return false;
  const found = await corruptPartOf(engine, error);
  if (found?.table !== "calls" || !/^\w+$/.test(found.part)) return false;
  await engine.command({ sql: `ALTER TABLE calls DETACH PART '${found.part}'` });
  onLoss?.(`The table calls lacks the rows of the part ${found.part}, which cannot be read and was put aside`);
  return true;
}
