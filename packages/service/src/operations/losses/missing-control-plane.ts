import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathExists } from "@heddle/durable-files";
import { controlPlaneFile, filesDirectory } from "../backup/locations.js";
import { ConfigError } from "../../config/config-error.js";
import { engineDirectory } from "../data-directory.js";
import type { Config } from "../../config/config.js";

/**
 * Throws a {@link ConfigError} when there are traces or files and no control plane that they belong to. A new one would
 * have none of the keys and projects, and the tracing database would refuse it.
 */
export function checkControlPlaneExists(config: Config): void {
  const file = controlPlaneFile(config);
  if (file === undefined || (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  const files = filesDirectory(config);
  const kept = [engineDirectory(config.dataDir), ...(files === undefined ? [] : [join(files, "sha256")])];
  const found = kept.find((path) => pathExists(path) && readdirSync(path).length > 0);
  if (found === undefined) return;
  throw new ConfigError(
    `${file}, the database of keys, users and projects, is missing, and ${found} is there: ` +
      "restore it from a backup, or choose an empty HEDDLE_DATA_DIR.",
  );
}
