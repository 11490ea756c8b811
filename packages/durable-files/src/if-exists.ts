import { statSync } from "node:fs";

/** Nothing has the path: also where a part of it is a file, or is longer than names may be. */
const missingCodes: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG"]);

/** Whether an error of the file system says that nothing has the path. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && missingCodes.has(error.code);
}

/**
 * Resolves as `found` does, or to undefined if nothing has the path. Other errors are thrown: what cannot be read is not
 * missing.
 */
export async function ifExists<T>(found: Promise<T>): Promise<T | undefined> {
  return await found.catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
}

/** Whether something has the path. Throws where that cannot be known. */
export function pathExists(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
