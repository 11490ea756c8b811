import { createHash } from "node:crypto";
import { canonicalJson } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** Digest of a file's bytes: SHA-256 in base64url with `-` and `_` replaced by `X` and `Y`; 43 letters and digits. */
export function fileDigest(bytes: Uint8Array | string): string {
  return pathSafe(createHash("sha256").update(bytes).digest("base64url"));
}

/** Digest of an object version or a table row: of its canonical JSON text. */
export function valueDigest(text: JsonText): string {
  return fileDigest(canonicalJson(text));
}

/** Digest of a table from its row digests in order: 64 lowercase hex digits. */
export function tableDigest(rowDigests: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const digest of rowDigests) hash.update(digest);
  return hash.digest("hex");
}

/** Whether a version label has the form of a content digest; such a label is never looked up as an alias. */
export function isContentDigest(text: string): boolean {
  return /^(?:[A-Za-z0-9]{43}|[0-9a-f]{64})$/.test(text);
}

/** Base64url to the digest alphabet; also what a streaming hash of a file ends with. */
export function pathSafe(base64url: string): string {
  return base64url.replaceAll("-", "X").replaceAll("_", "Y");
}
