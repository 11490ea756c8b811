import { createRequire } from "node:module";
import type { Session } from "chdb";

/** What one insert wrote, as the engine counted it (rows of materialized views included). */
export interface Written {
  rowsWritten: number;
  bytesWritten: number;
}

/** The parts of chDB that the host uses. */
export interface EngineLibrary {
  Session: typeof Session;
  drainPending(): Promise<void>;
  /**
   * Runs `statement`, a newline and `data` as one statement.
   * The public `Session.insert` knows eight formats and builds its own SQL; this entry, which it is built on,
   * takes any INSERT with bytes in any format and is the only one that returns how much was written.
   */
  insert(session: Session, statement: string, data: Buffer): Promise<Written>;
}

interface NativeAddon {
  InsertRawAsyncConnection(connection: unknown, statement: string, data: Buffer, countLines: boolean): Promise<Written>;
}

/** Loads chDB. Throws where the optional dependency is missing or its binary does not fit the platform. */
export async function loadEngineLibrary(): Promise<EngineLibrary> {
  const require = createRequire(import.meta.url);
  const { Session, drainPending } = await import("chdb");
  const loader = createRequire(require.resolve("chdb"))("./dist/loader.js") as {
    loadNative(): NativeAddon;
  };
  const addon = loader.loadNative();
  return {
    Session,
    drainPending,
    insert: (session, statement, data) => addon.InsertRawAsyncConnection(session.connection, statement, data, false),
  };
}
