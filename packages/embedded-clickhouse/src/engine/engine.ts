import { engineArguments } from "./arguments.js";
import { makeMergesNice } from "./background-threads.js";
import { endOnFailedWrites, failedWritesSql } from "./failed-writes.js";
import type { EngineLibrary } from "./library.js";
import { openSessionPool } from "./session-pool.js";
import type { SessionPool } from "./session-pool.js";

export interface EmbeddedEngine {
  pool: SessionPool;
  /** Runs a probe query on a session of its own, so that no other query delays it. To be called now and then. */
  probe(): Promise<void>;
  /** Asks every query whose log comment ends with `marker` to stop; returns at once. */
  kill(marker: string): Promise<void>;
  version: string;
  timezone: string;
  /** Resolves when the engine is closed; no request may be running. */
  close(): Promise<void>;
}

/** Opens the data directory, which one process can hold at a time. Throws when another one does. */
export async function openEngine(
  library: EngineLibrary,
  directory: string,
  memoryBytes: number,
): Promise<EmbeddedEngine> {
  const args = engineArguments(directory, memoryBytes);
  // Locks the directory until the host ends; requests open sessions of their own.
  const holder = new library.Session(directory, { connectionArgs: args });

  async function once(sql: string): Promise<string> {
    const session = new library.Session(directory, { connectionArgs: args });
    try {
      return (await session.queryAsync(sql, { format: "TabSeparated" })).text();
    } finally {
      session.close();
    }
  }

  const facts = await once(`SELECT version(), timezone(), (${failedWritesSql})`);
  const [version = "", timezone = "", failedAtStart] = facts.trim().split("\t");
  const failedWrites = Number(failedAtStart);
  const pool = await openSessionPool(library, { directory, engineArguments: args, failedWrites });
  let mergesAreNice = false;
  return {
    pool,
    version,
    timezone,
    async probe() {
      // A background merge writes, too; what it merged is kept for another minute.
      endOnFailedWrites(await once(failedWritesSql), failedWrites);
      mergesAreNice ||= makeMergesNice();
    },
    async kill(marker) {
      // Never SYNC: waiting for the end of the killed query hung indefinitely.
      await once(`KILL QUERY WHERE endsWith(Settings['log_comment'], '${marker}') ASYNC`);
    },
    async close() {
      await pool.close();
      await library.drainPending();
      holder.close();
    },
  };
}
