import { hash, randomInt } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** A new secret: 40 characters of [A-Za-z0-9], 238 bits. Client libraries refuse shorter keys and other characters. */
export function newSecret(): string {
  return Array.from({ length: 40 }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/**
 * The hash that is stored and looked up instead of a secret. It needs no salt or work factor, because secrets are long
 * and random; the time of comparing hashes reveals nothing about the secret.
 */
export function secretHash(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** The first characters of a secret, which may be shown to distinguish it from others. */
export function shownPrefix(secret: string): string {
  return secret.slice(0, 6);
}
