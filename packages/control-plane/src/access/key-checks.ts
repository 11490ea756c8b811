import type { Caller } from "./callers.js";
import { secretHash } from "./secret.js";
import type { KeyCheck, KeyVerifier } from "./verify.js";

/** What was made in the name of a key, and ends with it. The owner key is not stored: what it made ends when it becomes another. */
export interface KeyChecks {
  /** What is stored with the id of the key. */
  checkOf(caller: Caller): string;
  callerOf(keyId: string, check: string): Promise<KeyCheck>;
}

/** `purpose` keeps what is stored apart from other hashes of the owner key. */
export function openKeyChecks(verifier: KeyVerifier, ownerSecret: string | undefined, purpose: string): KeyChecks {
  const ownerCheck = ownerSecret === undefined ? "" : secretHash(`${purpose} of ${secretHash(ownerSecret)}`);
  const checkOf = ({ owner }: Caller) => (owner ? ownerCheck : "");
  return {
    checkOf,
    async callerOf(keyId, keyCheck) {
      const check = await verifier.checkId(keyId);
      if (check.caller === undefined || checkOf(check.caller) === keyCheck) return check;
      return { refused: "revoked", key_id: keyId };
    },
  };
}
