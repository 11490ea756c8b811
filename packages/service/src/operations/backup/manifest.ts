import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMissing, replaceDurableFile } from "@heddle/durable-files";
import { ConfigError } from "../../config/config-error.js";

/** What a backup holds. It is written last: a directory without it is not a backup. */
export interface Manifest {
  format: 1;
  /** Version of the program that made it. */
  heddle: string;
  /** ISO 8601, UTC. */
  made_at: string;
  /** Parts that were in the data directory; the others are on other servers and are backed up there. */
  parts: Part[];
}

export type Part = "traces" | "files" | "control-plane";

const name = "manifest.json";

export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  await replaceDurableFile(join(directory, name), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** Throws a {@link ConfigError} for what is not a backup, or one of a format that this version does not know. */
export function readManifest(directory: string): Manifest {
  let manifest: Manifest | null = null;
  try {
    manifest = JSON.parse(readFileSync(join(directory, name), "utf8")) as Manifest | null;
  } catch (error) {
    const isTruncated = error instanceof SyntaxError;
    if (!isTruncated && !isMissing(error)) throw error;
  }
  if (manifest === null) {
    throw new ConfigError(`${directory} has no ${name}: it is not a backup, or one that did not finish.`);
  }
  if (manifest.format !== 1) {
    throw new ConfigError(
      `${directory} was made by Heddle ${manifest.heddle}, in a format that this one does not know.`,
    );
  }
  return manifest;
}
