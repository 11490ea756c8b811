import { createHmac, timingSafeEqual } from "node:crypto";
import { HeddleError } from "@heddle/errors";

/** What a signed URL lets anybody do who has it, until it expires. */
export type Grant =
  /** Send the content with an MD5 for artifacts of a project. */
  | { kind: "content"; project_id: string; md5: string }
  /** Send the manifest of an announced version. */
  | { kind: "manifest"; draft_id: string }
  /** Read a file of a version. */
  | { kind: "file"; version_id: string; path: string }
  /** Read the manifest of a version. */
  | { kind: "version-manifest"; version_id: string };

/** The path under which signed URLs are served. */
export const signedPath = "/wandb-files/";

/** Long enough for the uploads of one client to take their turn. */
const validMs = 6 * 3_600_000;

/** Returns the URL of a grant. */
export function signUrl(origin: string, key: string, grant: Grant, now = Date.now()): string {
  const payload = Buffer.from(JSON.stringify({ ...grant, expires: now + validMs })).toString("base64url");
  return `${origin}${signedPath}${payload}.${signatureOf(payload, key)}`;
}

/** Throws `forbidden` for a token that was not signed here or has expired. */
export function readGrant(token: string, key: string, now = Date.now()): Grant {
  const [payload = "", signature = ""] = token.split(".");
  const expected = Buffer.from(signatureOf(payload, key));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new HeddleError("forbidden", "the URL is not one of this service");
  }
  const { expires, ...grant } = JSON.parse(Buffer.from(payload, "base64url").toString()) as Grant & { expires: number };
  if (expires < now) throw new HeddleError("forbidden", "the URL has expired: ask for a new one");
  return grant;
}

function signatureOf(payload: string, key: string): string {
  return createHmac("sha256", key).update(payload).digest("base64url");
}
