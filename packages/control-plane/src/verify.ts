import type { Caller } from "./callers.js";
import type { Database } from "./database.js";
import { findKey } from "./keys.js";
import type { ApiKey } from "./keys.js";
import { secretHash } from "./secret.js";

/** How long a key that another process has revoked may still be accepted. */
const believedFor = 1_000_000n;
/** How often the last use of a key is stored. */
const useGrain = 600_000_000n;
const remembered = 1000;

export interface KeyVerifier {
  /** The caller of a secret; undefined for an unknown or revoked one. */
  verify(secret: string): Promise<Caller | undefined>;
  forget(): void;
}

/** `owner` is checked by its hash like any other and never reaches the database. */
export function openVerifier(
  database: Database,
  owner: { secret: string; caller: Caller } | undefined,
  now: () => bigint,
): KeyVerifier {
  const ownerHash = owner && secretHash(owner.secret);
  const believed = new Map<string, { caller: Caller; until: bigint }>();

  async function noteUse(key: ApiKey, time: bigint): Promise<void> {
    if (key.last_used_at !== undefined && time - key.last_used_at < useGrain) return;
    try {
      await database.run("UPDATE api_keys SET last_used_at = $2 WHERE id = $1", [key.id, time]);
    } catch {
      // A full disk or a busy writer must not lock readers out.
    }
  }

  return {
    async verify(secret) {
      const hash = secretHash(secret);
      if (owner !== undefined && hash === ownerHash) return owner.caller;
      const time = now();
      const known = believed.get(hash);
      if (known !== undefined && time < known.until) return known.caller;
      believed.delete(hash);
      const key = await findKey(database, "k.secret_sha256", hash);
      if (key === undefined || key.revoked_at !== undefined) return undefined;
      const caller = callerOf(key);
      if (believed.size >= remembered) believed.clear();
      believed.set(hash, { caller, until: time + believedFor });
      await noteUse(key, time);
      return caller;
    },
    forget: () => believed.clear(),
  };
}

function callerOf({ id, user_id, user_name, entity, role, projects }: ApiKey): Caller {
  return { key_id: id, user_id, user_name, entity, role, ...(projects && { projects }), owner: false };
}
