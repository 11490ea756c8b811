import type { Caller } from "./callers.js";
import type { Database } from "../database/database.js";
import { findKey } from "./keys.js";
import type { ApiKey } from "./keys.js";
import { isRecentUse, RecentLookups } from "./recent-lookups.js";
import { secretHash } from "./secret.js";

/** The caller of a key, or why it has none. */
export type KeyCheck =
  | { caller: Caller }
  | { caller?: undefined; refused: "unknown" }
  | { caller?: undefined; refused: "revoked"; key_id: string };

export interface KeyVerifier {
  check(secret: string): Promise<KeyCheck>;
  /** The same for the id of a key, in place of its secret. */
  checkId(id: string): Promise<KeyCheck>;
  /** Looks every key up anew, also where that is under way. */
  forget(): void;
}

/** `owner` is checked by its hash like any other and never reaches the database. */
export function openVerifier(
  database: Database,
  owner: { secret: string; caller: Caller } | undefined,
  now: () => bigint,
): KeyVerifier {
  const ownerHash = owner && secretHash(owner.secret);
  /** By column and value. */
  const recent = new RecentLookups<KeyCheck>(now);

  async function noteUse(key: ApiKey, time: bigint): Promise<void> {
    if (key.last_used_at !== undefined && isRecentUse(key.last_used_at, time)) return;
    try {
      await database.run("UPDATE api_keys SET last_used_at = $2 WHERE id = $1", [key.id, time]);
    } catch {
      // A full disk or a busy writer must not lock readers out.
    }
  }

  async function look(column: "k.id" | "k.secret_sha256", value: string): Promise<KeyCheck> {
    const isAccepted = ({ caller }: KeyCheck) => caller !== undefined;
    return await recent.get(`${column} ${value}`, async () => await find(column, value), isAccepted);
  }

  async function find(column: "k.id" | "k.secret_sha256", value: string): Promise<KeyCheck> {
    const time = now();
    const key = await findKey(database, column, value);
    if (key === undefined) return { refused: "unknown" };
    if (key.revoked_at !== undefined) return { refused: "revoked", key_id: key.id };
    await noteUse(key, time);
    return { caller: callerOf(key) };
  }

  return {
    async check(secret) {
      const hash = secretHash(secret);
      return owner !== undefined && hash === ownerHash ? { caller: owner.caller } : look("k.secret_sha256", hash);
    },
    async checkId(id) {
      return id === owner?.caller.key_id ? { caller: owner.caller } : look("k.id", id);
    },
    forget: () => recent.forget(),
  };
}

function callerOf({ id, user_id, user_name, entity, role, projects }: ApiKey): Caller {
  return { key_id: id, user_id, user_name, entity, role, ...(projects && { projects }), owner: false };
}
