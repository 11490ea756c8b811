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

/** Seeds the clock from the greatest version in every table that has one. */
export async function seedClock(engine: Engine, clock: VersionClock): Promise<void> {
  const maxima = tableFacts.flatMap(([table, { versionColumn }]) =>
    versionColumn === null ? [] : [`SELECT max(${versionColumn}) AS version FROM ${table}`],
  );
  const rows = await engine.rows<{ version: string }>({ sql: maxima.join(" UNION ALL ") });
  for (const { version } of rows) clock.seed(BigInt(version));
}
