import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";

export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Throws `conflict` for content that is not the announced one. */
export function checkDigest(sha256: string, expected: string | undefined): void {
  if (expected !== undefined && expected !== sha256) {
    throw new HeddleError("conflict", `the content has the digest ${sha256}, not ${expected}`);
  }
}
