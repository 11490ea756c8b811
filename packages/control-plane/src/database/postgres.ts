import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import { Client, Pool, TypeOverrides, types } from "pg";
import type { ClientBase } from "pg";
import type { Database, Row, SqlValue, Statements } from "./database.js";
import { postgresFailure } from "./postgres-failure.js";

const integers = new TypeOverrides();
for (const type of [types.builtins.INT2, types.builtins.INT4, types.builtins.INT8]) {
  integers.setTypeParser(type, BigInt);
}

/** The advisory lock that every transaction holds, one with a subject together with others: the same in every process. */
const transactionLock = 4_680_001n;
/** With the hash of a subject, the lock of that subject. Subjects with one hash wait for each other needlessly. */
const subjectLock = 4680n;

/**
 * The Postgres driver: a pool of connections. A server that does not respond is `busy`, one that rejects the service
 * `denied`; once the operator has solved it, the next statement works. The configuration of the server decides how
 * durable a commit is.
 */
export function openPostgres(url: string): Database {
  checkUrl(url);
  const pool = new Pool({
    connectionString: url,
    max: 8,
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
    keepAlive: true,
    application_name: "heddle",
    types: integers,
  });
  // A connection broke: what ran on it fails by itself, the next statement makes a new one.
  pool.on("error", () => {});
  // The pool listens to idle ones only, and an error event without a listener ends the process.
  pool.on("connect", (client) => client.on("error", () => {}));

  const failed = (error: unknown): never => {
    throw postgresFailure(error, url);
  };
  const on = (client: Pick<ClientBase, "query">): Statements => {
    const rows = async (sql: string, params: readonly SqlValue[] = []): Promise<Row[]> =>
      (await client.query<Row>(sql, [...params]).catch(failed)).rows;
    return { rows, run: async (sql, params) => void (await rows(sql, params)) };
  };

  return {
    ...on(pool),
    async transaction(work, subject) {
      const client = await pool.connect().catch(failed);
      const statements = on(client);
      let usable = false;
      try {
        await statements.run("BEGIN");
        if (subject === undefined) await statements.run("SELECT pg_advisory_xact_lock($1)", [transactionLock]);
        else {
          const sql = "SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock($2::int, $3::int)";
          await statements.run(sql, [transactionLock, subjectLock, hashOf(subject)]);
        }
        const result = await work(statements);
        await statements.run("COMMIT");
        usable = true;
        return result;
      } finally {
        // Closing the connection rolls back, whatever state it is in.
        client.release(!usable);
      }
    },
    close: async () => await pool.end(),
  };
}

/** Of any text, also of one that Postgres cannot store. */
function hashOf(subject: string): bigint {
  return BigInt(createHash("sha256").update(subject).digest().readInt32BE(0));
}

/** A URL that the driver cannot read, or that names a certificate which is not there, would fail every connection. */
function checkUrl(url: string): void {
  try {
    void new Client({ connectionString: url });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HeddleError("invalid", `the database URL cannot be used: ${reason}`, { loc: ["url"] });
  }
}
