import { createHmac, timingSafeEqual } from "node:crypto";
import type { Database } from "../database/database.js";
import { textOf } from "../database/database.js";
import { newSecret, secretHash } from "./secret.js";

/** Signatures of URLs, each in the name of a key. Whether the key is still valid is not a matter of the signature. */
export interface UrlSignatures {
  sign(keyId: string, text: string): string;
  /** Whether this control plane has signed the text in the name of the key. */
  verify(keyId: string, text: string, signature: string): boolean;
}

/** `owner` is the key that is not stored: what another one of the same id has signed is not valid. */
export async function openUrlSignatures(
  database: Database,
  owner: { id: string; secret: string } | undefined,
): Promise<UrlSignatures> {
  const secret = await ensureSecret(database);
  const secretOf = (keyId: string) => (keyId === owner?.id ? `${secret} ${secretHash(owner.secret)}` : secret);
  const sign = (keyId: string, text: string) =>
    createHmac("sha256", secretOf(keyId)).update(`${keyId}\n${text}`).digest("base64url");
  return {
    sign,
    verify(keyId, text, signature) {
      const [expected, given] = [sign(keyId, text), signature].map((value) => Buffer.from(value));
      return expected !== undefined && expected.length === given?.length && timingSafeEqual(expected, given);
    },
  };
}

/** The secret that all services of this control plane share, made at the first start. */
async function ensureSecret(database: Database): Promise<string> {
  await database.run("INSERT INTO url_signing_key (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", [
    newSecret(),
  ]);
  const [row] = await database.rows("SELECT secret FROM url_signing_key WHERE id = 1");
  return textOf(row ?? {}, "secret");
}
