import type { Engine } from "../../engine/engine.js";
import { Parameters } from "../../engine/parameters.js";
import { joinSlices, smallSlices } from "./slices.js";
import type { Slice } from "./slices.js";

/** Looking for one id reads this many rows of `call_ids`, its granule, at most. */
const rowsPerId = 512;
/** Rows whose ids are looked up one by one: a statement reads less than a million rows. */
const fewRows = 1900;
/** Rows whose ids are compared with all of `call_ids` at a time, where that is less than to look for each. */
const manyRows = 250_000;

/**
 * Cuts versions into spans with about `most` rows of `calls` each, or as many as one statement can check; a commit is never cut.
 */
export async function versionSpans(engine: Engine, after: bigint, upTo: bigint, most?: number): Promise<Slice[]> {
  const counting = smallSlices(engine, { after, upTo }, (step) => {
    const params = new Parameters();
    const from = params.bind("UInt64", after);
    const sql = `SELECT intDiv(version - ${from} - 1, ${params.bind("UInt64", step)}) AS bucket, count() AS rows
      FROM calls WHERE version > ${from} AND version <= ${params.bind("UInt64", upTo)} GROUP BY bucket ORDER BY bucket`;
    return { sql, params };
  });
  if (most !== undefined) return joinSlices({ after, upTo }, await counting, most);
  const [small, [ids]] = await Promise.all([
    counting,
    engine.rows<{ rows: string }>({ sql: "SELECT count() AS rows FROM call_ids" }),
  ]);
  const all = small.reduce((sum, { rows }) => sum + rows, 0);
  return joinSlices({ after, upTo }, small, all * rowsPerId < Number(ids?.rows ?? 0) ? fewRows : manyRows);
}
