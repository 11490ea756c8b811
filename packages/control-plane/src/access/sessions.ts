import { randomUUID, timingSafeEqual } from "node:crypto";
import type { Caller } from "./callers.js";
import type { Database, Row, Statements } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { endSessionsOfKey } from "./end-sessions.js";
import { isRecentUse, RecentLookups } from "./recent-lookups.js";
import { newSecret, secretHash } from "./secret.js";
import type { KeyChecks } from "./key-checks.js";
import type { KeyCheck } from "./verify.js";

/** The secrets of a new session; both are needed, and only their hashes are stored. */
interface NewSession {
  token: string;
  cookie: string;
  caller: Caller;
}

/** The caller of a session, or why there is none. */
export type SessionCheck = KeyCheck | { caller?: undefined; refused: "expired" };

/** Sessions of browsers. Each has the rights of one key, and ends with it. */
export interface Sessions {
  /** Begins a session of a key. Of more than a hundred of one key, the oldest end. */
  create(caller: Caller): Promise<NewSession>;
  /** Returns a text by which a session of the key can be begun once within ten minutes. */
  createCode(caller: Caller): Promise<{ code: string; expires_at: bigint }>;
  /** Uses up a code. Returns the caller of its key. */
  redeemCode(code: string): Promise<SessionCheck>;
  /**
   * Returns the caller of a session, given its token and the cookies of which one must be its own. A session that another
   * process has ended, or whose key it has revoked, may be accepted for a second.
   */
  check(token: string, cookies: readonly string[]): Promise<SessionCheck>;
  /** Whether a session that was accepted before still is. */
  isValid(id: string): Promise<boolean>;
  /** Ends a session. */
  end(id: string): Promise<void>;
  /** Ends all sessions of a key and its codes. Returns how many sessions. */
  endAll(keyId: string): Promise<number>;
}

const second = 1_000_000n;
const day = 86_400n * second;
/** A session ends when it was not used for so long, and so long after it began. */
const idleTime = 7n * day;
const longest = 30n * day;
const codeTime = 600n * second;
const mostOfKey = 100n;

interface StoredSession {
  id: string;
  cookieHash: string;
  keyId: string;
  keyCheck: string;
  createdAt: bigint;
  lastUsedAt: bigint;
}

export function openSessions(database: Database, keys: KeyChecks, now: () => bigint): Sessions {
  /** By the hash of the token. */
  const recent = new RecentLookups<StoredSession | undefined>(now);
  async function find(tokenHash: string): Promise<StoredSession | undefined> {
    const look = async () => {
      const [row] = await database.rows("SELECT * FROM sessions WHERE token_sha256 = $1", [tokenHash]);
      return row && sessionOf(row);
    };
    return await recent.get(tokenHash, look, (session) => session !== undefined);
  }

  async function noteUse(session: StoredSession, time: bigint): Promise<void> {
    if (isRecentUse(session.lastUsedAt, time)) return;
    session.lastUsedAt = time;
    try {
      await database.run("UPDATE sessions SET last_used_at = $2 WHERE id = $1", [session.id, time]);
    } catch {
      // A full disk or a busy writer must not lock readers out.
    }
  }

  return {
    async create(caller) {
      const [token, cookie, id, time] = [newSecret(), newSecret(), randomUUID(), now()];
      const { key_id } = caller;
      await database.transaction(async (statements) => {
        await statements.run(
          `INSERT INTO sessions (id, token_sha256, cookie_sha256, key_id, key_check, created_at, last_used_at)
            VALUES ($1, $2, $3, $4, $5, $6, $6)`,
          [id, secretHash(token), secretHash(cookie), key_id, keys.checkOf(caller), time],
        );
        await statements.run("DELETE FROM sessions WHERE created_at < $1 OR last_used_at < $2", [
          time - longest,
          time - idleTime,
        ]);
        await keepNewest(statements, "sessions", "id", key_id);
      });
      recent.forget();
      const session = { id, expires_at: endOf({ createdAt: time, lastUsedAt: time }) };
      return { token, cookie, caller: { ...caller, session } };
    },

    async createCode(caller) {
      const [code, time] = [newSecret(), now()];
      const { key_id } = caller;
      await database.transaction(async (statements) => {
        await statements.run("DELETE FROM session_codes WHERE created_at < $1", [time - codeTime]);
        await statements.run(
          "INSERT INTO session_codes (code_sha256, key_id, key_check, created_at) VALUES ($1, $2, $3, $4)",
          [secretHash(code), key_id, keys.checkOf(caller), time],
        );
        await keepNewest(statements, "session_codes", "code_sha256", key_id);
      });
      return { code, expires_at: time + codeTime };
    },

    async redeemCode(code) {
      const sql = "DELETE FROM session_codes WHERE code_sha256 = $1 RETURNING key_id, key_check, created_at";
      const [row] = await database.rows(sql, [secretHash(code)]);
      if (row === undefined) return { refused: "unknown" };
      if (now() - integerOf(row, "created_at") > codeTime) return { refused: "expired" };
      return await keys.callerOf(textOf(row, "key_id"), textOf(row, "key_check"));
    },

    async check(token, cookies) {
      const session = await find(secretHash(token));
      if (session === undefined || !cookies.some((cookie) => isSameHash(session.cookieHash, secretHash(cookie))))
        return { refused: "unknown" };
      const time = now();
      if (time > endOf(session)) return { refused: "expired" };
      const check = await keys.callerOf(session.keyId, session.keyCheck);
      if (check.caller === undefined) return check;
      await noteUse(session, time);
      return { caller: { ...check.caller, session: { id: session.id, expires_at: endOf(session) } } };
    },

    async isValid(id) {
      const [row] = await database.rows("SELECT * FROM sessions WHERE id = $1", [id]);
      return row !== undefined && now() <= endOf(sessionOf(row));
    },

    async end(id) {
      await database.run("DELETE FROM sessions WHERE id = $1", [id]);
      recent.forget();
    },

    async endAll(keyId) {
      const ended = await database.transaction(async (statements) => await endSessionsOfKey(statements, keyId));
      recent.forget();
      return ended;
    },
  };
}

async function keepNewest(
  statements: Statements,
  table: "sessions" | "session_codes",
  id: "id" | "code_sha256",
  keyId: string,
): Promise<void> {
  const newest = `SELECT ${id} FROM ${table} WHERE key_id = $1 ORDER BY created_at DESC, ${id} LIMIT $2`;
  await statements.run(`DELETE FROM ${table} WHERE key_id = $1 AND ${id} NOT IN (${newest})`, [keyId, mostOfKey]);
}

function endOf({ createdAt, lastUsedAt }: Pick<StoredSession, "createdAt" | "lastUsedAt">): bigint {
  const [idle, last] = [lastUsedAt + idleTime, createdAt + longest];
  return idle < last ? idle : last;
}

function isSameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function sessionOf(row: Row): StoredSession {
  return {
    id: textOf(row, "id"),
    cookieHash: textOf(row, "cookie_sha256"),
    keyId: textOf(row, "key_id"),
    keyCheck: textOf(row, "key_check"),
    createdAt: integerOf(row, "created_at"),
    lastUsedAt: integerOf(row, "last_used_at"),
  };
}
