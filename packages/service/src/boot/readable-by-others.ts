import { statSync } from "node:fs";
import { sep } from "node:path";
import { controlPlaneFile, filesDirectory } from "../operations/backup/locations.js";
import type { Config } from "../config/config.js";

/**
 * One line for each directory or database of the service that other users of the machine may open. What the service
 * creates is for its own user; what somebody else put there, or an earlier version created, may not be.
 */
export function readableByOthers(config: Config): string[] {
  // Windows has other rights than these.
  if (process.platform === "win32") return [];
  const { dataDir } = config;
  const outside = [filesDirectory(config), controlPlaneFile(config)].filter(
    (path) => path !== undefined && !path.startsWith(dataDir + sep),
  );
  const lines = [];
  for (const path of [dataDir, ...outside]) {
    const mode = (statSync(path ?? "", { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
    if ((mode & 0o077) === 0) continue;
    lines.push(`other users of this machine may open ${path} (mode ${mode.toString(8)}): chmod -R go= ${path}`);
  }
  return lines;
}
