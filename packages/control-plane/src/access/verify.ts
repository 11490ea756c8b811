import type { Caller } from "./callers.js";
import type { Database } from "../database/database.js";
import { findKey } from "./keys.js";
import type { ApiKey } from "./keys.js";
import { msSince } from "../moment.js";
import type { Moment } from "../moment.js";
import { secretHash } from "./secret.js";

/** How long a key that another process has revoked may still be accepted. */
const believedMs = 1000;
/** How often the last use of a key is stored. */
const useGrain = 600_000_000n;
const remembered = 1000;

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
  let believed = new Map<string, { caller: Caller; at: Moment }>();

  async function noteUse(key: ApiKey, time: bigint): Promise<void> {
    // Not from a clock that was ahead then.
    const isRecent = (at: bigint) => at <= time && time - at < useGrain;
    if (key.last_used_at !== undefined && isRecent(key.last_used_at)) return;
    try {
      await database.run("UPDATE api_keys SET last_used_at = $2 WHERE id = $1", [key.id, time]);
    } catch {
      // A full disk or a busy writer must not lock readers out.
    }
  }

  async function look(column: "k.id" | "k.secret_sha256", value: string): Promise<KeyCheck> {
    const time = now();
    const at = { monotonic: performance.now(), wall: Number(time / 1000n) };
    const name = `${column} ${value}`;
    const known = believed.get(name);
    if (known !== undefined && msSince(known.at, at.wall) < believedMs) return { caller: known.caller };
    const current = believed;
    current.delete(name);
    const key = await findKey(database, column, value);
    if (key === undefined) return { refused: "unknown" };
    if (key.revoked_at !== undefined) return { refused: "revoked", key_id: key.id };
    const caller = callerOf(key);
    if (current.size >= remembered) current.clear();
    current.set(name, { caller, at });
    await noteUse(key, time);
    return { caller };
  }

  return {
    async check(secret) {
      const hash = secretHash(secret);
      return owner !== undefined && hash === ownerHash ? { caller: owner.caller } : look("k.secret_sha256", hash);
    },
    async checkId(id) {
      return id === owner?.caller.key_id ? { caller: owner.caller } : look("k.id", id);
    },
    // A lookup that is under way remembers what it finds in the old one.
    forget: () => (believed = new Map()),
  };
}

function callerOf({ id, user_id, user_name, entity, role, projects }: ApiKey): Caller {
  return { key_id: id, user_id, user_name, entity, role, ...(projects && { projects }), owner: false };
}
