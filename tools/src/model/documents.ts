import { readdirSync } from "node:fs";

/** Names of the bundled documents in a directory, sorted. */
export function documentsIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => /^[a-z-]+\.json$/.test(name))
    .toSorted();
}
