import { setImmediate, setTimeout } from "node:timers/promises";
import { mutex } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import Libsql from "libsql";
import type { Database, Row, SqlValue, Statements } from "./database.js";

/** Statements with a filter or an order differ in their text: there are more than are worth to be kept. */
const maxPrepared = 500;

/** Milliseconds of statements after which the event loop turns, also inside of a transaction. */
const mostAtOnceMs = 8;

/** Statements that take no lock, and those that cannot be in a transaction. */
const readsOnly = /^\s*(?:SELECT|PRAGMA|EXPLAIN|WITH(?!.*\b(?:INSERT|UPDATE|DELETE)\b))\b/is;

/**
 * The SQLite driver: one connection, durable at every commit. Calls of the library are synchronous and take
 * microseconds; a write waits up to 5 s for another writer and then fails as `busy`. However many statements follow each
 * other, the thread is not held for longer than one of them and some milliseconds.
 */
export function openSqlite(path: string): Database {
  const connection = connect(path);
  const prepared = new Map<string, ReturnType<typeof connection.prepare>>();

  let heldMs = 0;
  const turn = async (): Promise<void> => {
    if (heldMs < mostAtOnceMs) return;
    heldMs = 0;
    await setImmediate();
  };

  const execute = (sql: string, params: readonly SqlValue[] = []): Row[] => {
    const began = performance.now();
    try {
      return executeNow(sql, params);
    } finally {
      heldMs += performance.now() - began;
    }
  };

  const executeNow = (sql: string, params: readonly SqlValue[]): Row[] => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      if (prepared.size >= maxPrepared) prepared.clear();
      // SQLite reads `$1` as a name; its numbered parameters are `?1`.
      statement = connection.prepare(sql.replaceAll(/\$(\d+)/g, "?$1")).safeIntegers();
      prepared.set(sql, statement);
    }
    if (statement.reader) return statement.all([...params]) as Row[];
    statement.run([...params]);
    return [];
  };
  const direct: Statements = {
    async rows(sql, params) {
      await turn();
      return execute(sql, params);
    },
    async run(sql, params) {
      await turn();
      execute(sql, params);
    },
  };

  // There is one connection: every other statement waits for the end of an open transaction.
  const runExclusive = mutex();
  const queued = async <T>(work: () => Promise<T>): Promise<T> =>
    await runExclusive(async () => {
      await turn();
      return await work();
    }).catch((error: unknown) => {
      throw sqliteFailure(error, path);
    });

  const inTransaction = async <T>(work: () => T | Promise<T>): Promise<T> => {
    await retryWhileLocked(() => connection.exec("BEGIN IMMEDIATE"));
    try {
      const result = await work();
      connection.exec("COMMIT");
      return result;
    } catch (error) {
      // A failed COMMIT may have ended the transaction by itself.
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
  };
  /**
   * A prepared write that finds the database locked stays in progress, as far as SQLite knows, and no transaction can be
   * committed until it runs again. So writes wait for the lock by a `BEGIN`, which is not kept.
   */
  const alone = async (sql: string, params: readonly SqlValue[] | undefined): Promise<Row[]> =>
    await queued(async () =>
      readsOnly.test(sql)
        ? await retryWhileLocked(() => execute(sql, params))
        : await inTransaction(() => execute(sql, params)),
    );

  return {
    rows: alone,
    run: async (sql, params) => void (await alone(sql, params)),
    transaction: async (work) => await queued(async () => await inTransaction(async () => await work(direct))),
    close: async () =>
      await queued(async () => {
        prepared.clear();
        connection.close();
      }),
  };
}

/**
 * Retries while the database is locked. The busy timeout of SQLite blocks the thread, also for the lock holder when it
 * is in this process; so it is 0.
 */
async function retryWhileLocked<T>(attempt: () => T): Promise<T> {
  const deadline = performance.now() + 5000;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > deadline) throw new HeddleError("busy", "another process holds the control plane");
      await setTimeout(5);
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
}

function connect(path: string): Libsql.Database {
  let connection: Libsql.Database | undefined;
  try {
    connection = new Libsql(path, { timeout: 0 });
    for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"]) connection.pragma(pragma);
    return connection;
  } catch (error) {
    connection?.close();
    const failure = sqliteFailure(error, path);
    if (failure instanceof HeddleError) throw failure;
    const reason = error instanceof Error ? error.message : String(error);
    throw new HeddleError("invalid", `the control-plane database ${path} cannot be opened: ${reason}`, {
      loc: ["url"],
    });
  }
}

/** Errors of the disk and the file, not of the SQL. */
function sqliteFailure(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  const code = String(error.code);
  const busy = (message: string, reason = error.message): HeddleError =>
    new HeddleError("busy", message, { cause: new Error(`${path}: ${reason}`, { cause: error }) });
  if (/^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code)) return busy("another process holds the control plane");
  if (code === "SQLITE_FULL") return new HeddleError("busy", "the disk of the control plane is full");
  if (/^SQLITE_(READONLY|IOERR|CANTOPEN)/.test(code)) return busy("the control plane cannot use its disk");
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) return busy("the control plane is corrupt", "restore it from a backup");
  return error;
}
