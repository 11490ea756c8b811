import { hash, randomInt } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** A new secret: 40 characters of [A-Za-z0-9], 238 bits. Client libraries refuse shorter keys and other characters. */
export function newSecret(): string {
  return Array.from({ length: 40 }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/**
 * What is stored and looked up instead of a secret. A plain hash serves, as the secrets are long and random; comparing
 * hashes tells nothing about the secret, whatever the time it takes.
 */
export function secretHash(secret: string): string {
  return hash("sha256", secret, "hex");
}
