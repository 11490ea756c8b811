import type { Engine } from "./engine/engine.js";
import { tableFacts } from "./schema/schema.js";

/**
 * Issues versions: the current microsecond, and always more than the last version. The row with the greatest version
 * replaces the others of its key, so one clock serves every table of a database.
 */
export interface VersionClock {
  next(): bigint;
  /** The greatest version issued or found so far. */
  last(): bigint;
  /** Continues the clock after a version that was found in the database. */
  seed(version: bigint): void;
}

export function versionClock(now: () => bigint): VersionClock {
  let last = 0n;
  return {
    next() {
      const us = now();
      last = us > last ? us : last + 1n;
      return last;
    },
    last: () => last,
    seed(version) {
      if (version > last) last = version;
    },
  };
}

/**
 * The greatest version from `from` to `upTo` of every table that has versions; 0 when there is none. It reads what was
 * written since.
 */
export async function newestVersion(engine: Engine, from: bigint, upTo = lastVersion): Promise<bigint> {
  const maxima = tableFacts.flatMap(([table, { versionColumn }]) => {
    if (versionColumn === null || table === "watermarks") return [];
    const between = `${versionColumn} >= ${from} AND ${versionColumn} <= ${upTo}`;
    return [`SELECT max(${versionColumn}) AS newest FROM ${table} WHERE ${between}`];
  });
  const rows = await engine.rows<{ newest: string }>({ sql: maxima.join(" UNION ALL ") });
  return rows.map(({ newest }) => BigInt(newest)).reduce((a, b) => (a > b ? a : b), 0n);
}

const lastVersion = 2n ** 63n - 1n;
