import { HeddleError } from "@heddle/errors";

const digestPattern = /^[0-9a-f]{64}$/;

/** The key of a content digest (64 lowercase hex digits). Two levels of folders keep each one small. */
export function keyOf(sha256: string): string {
  if (!digestPattern.test(sha256)) throw new HeddleError("invalid", `not a SHA-256 in hex: ${JSON.stringify(sha256)}`);
  return `sha256/${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;
}

/** The digest in a key. Anything but an exact key is `invalid`, so a key can never lead out of the store. */
export function digestOf(key: string): string {
  const sha256 = key.slice(key.lastIndexOf("/") + 1);
  if (!digestPattern.test(sha256) || keyOf(sha256) !== key) {
    throw new HeddleError("invalid", `not a blob key: ${JSON.stringify(key)}`);
  }
  return sha256;
}
