import { createHash } from "node:crypto";

/**
 * With what the names of inserts begin, the same for every process that may write into the database, so that one that takes over
 * knows what the last one sent. It has hexadecimal digits and hyphens.
 */
export function writerName(controlPlaneId: string, database: string): string {
  const hash = createHash("sha256").update(JSON.stringify([controlPlaneId, database]));
  return `heddle-${hash.digest("hex").slice(0, 16)}-`;
}
