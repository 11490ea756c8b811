import type { Database } from "./database/database.js";
import { integerOf } from "./database/database.js";

/** How far a tracing database is known to have come. */
export interface WriterEpoch {
  /** The last number that was given out for it; 0 when there was none. */
  given: bigint;
  /** The last one that is known to be stored in it. */
  stored: bigint;
}

/**
 * Numbers of the writers of each tracing database, in the order in which they took over. They are kept on both sides, so
 * that a control plane and a tracing database which were restored to different moments are noticed without any clock.
 */
export interface WriterEpochs {
  of(shard: string): Promise<WriterEpoch>;
  /** A number that is greater than all before. */
  next(shard: string): Promise<bigint>;
  /** Notes that a number is stored in the tracing database. */
  noteStored(shard: string, epoch: bigint): Promise<void>;
  /** Goes on after a number that is stored in the tracing database, and that this control plane does not know. */
  advanceTo(shard: string, epoch: bigint): Promise<void>;
}

export function openWriterEpochs(database: Database): WriterEpochs {
  return {
    async of(shard) {
      const [row] = await database.rows("SELECT given, stored FROM writer_epochs WHERE shard = $1", [shard]);
      if (row === undefined) return { given: 0n, stored: 0n };
      return { given: integerOf(row, "given"), stored: integerOf(row, "stored") };
    },
    async next(shard) {
      const rows = await database.rows(
        `INSERT INTO writer_epochs (shard, given, stored) VALUES ($1, 1, 0)
          ON CONFLICT (shard) DO UPDATE SET given = writer_epochs.given + 1 RETURNING given`,
        [shard],
      );
      return integerOf(rows[0] ?? {}, "given");
    },
    async noteStored(shard, epoch) {
      await database.run("UPDATE writer_epochs SET stored = $2 WHERE shard = $1 AND stored < $2", [shard, epoch]);
    },
    async advanceTo(shard, epoch) {
      await database.run(
        `INSERT INTO writer_epochs (shard, given, stored) VALUES ($1, $2, $2)
          ON CONFLICT (shard) DO UPDATE SET given = $2, stored = $2 WHERE writer_epochs.given < $2`,
        [shard, epoch],
      );
    },
  };
}
