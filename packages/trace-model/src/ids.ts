import { createHash, randomBytes } from "node:crypto";
import { hasAtMost } from "@heddle/exact-json";

const maxIdLength = 256;

/** A new UUIDv7: sorts by creation time and carries it. */
export function newId(nowMs: number = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  return uuidText(bytes, 7);
}

/**
 * The same UUID for the same request item, so that a retried request without ids of its own writes the same rows.
 * `kind` makes a call's id and its trace id different. UUIDv8, because the id has no time.
 */
export function derivedId(projectId: string, retryId: string, index: number, kind: string): string {
  const hash = createHash("sha256").update(JSON.stringify([projectId, retryId, index, kind]));
  return uuidText(hash.digest().subarray(0, 16), 8);
}

/** Microseconds at which a UUIDv7 was made; undefined for any other text. */
export function idTime(id: string): bigint | undefined {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(id)) {
    return undefined;
  }
  return BigInt(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)) * 1000n;
}

/**
 * Ids are free text (UUIDs, OpenTelemetry hex, whatever a client makes), 1 to 256 characters. Lone surrogates have no
 * UTF-8: in the store two ids that differ in them would become one.
 */
export function isCallId(text: string): boolean {
  return text.length > 0 && hasAtMost(text, maxIdLength) && (isAscii(text) || !/\p{Surrogate}/u.test(text));
}

/** Ids nearly always are; asking is some ten times cheaper than the expression. */
function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) return false;
  return true;
}

function uuidText(bytes: Buffer, version: number): string {
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | (version << 4);
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
