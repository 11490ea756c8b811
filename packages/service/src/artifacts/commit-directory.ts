import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { CommittedVersion, NewArtifactVersion } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { ArtifactStores } from "./artifact-stores.js";
import { storeContent } from "./store-content.js";

/**
 * Makes a version of all files below a directory. It resolves when the version is durable; until then there is none.
 * Throws `invalid` for what is neither a file nor a directory.
 */
export async function commitDirectory(
  services: ArtifactStores,
  directory: string,
  version: Omit<NewArtifactVersion, "files">,
): Promise<CommittedVersion> {
  const files: { path: string; sha256: string }[] = [];
  for (const path of await filesBelow(directory)) {
    const { sha256 } = await storeContent(services, version.project_id, createReadStream(join(directory, path)));
    files.push({ path, sha256 });
  }
  return await services.control.artifacts.commit({ ...version, files });
}

/** Paths relative to the directory, with `/` between names. */
async function filesBelow(directory: string, prefix = ""): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = prefix + entry.name;
    if (entry.isFile()) found.push(path);
    else if (entry.isDirectory()) found.push(...(await filesBelow(join(directory, entry.name), `${path}/`)));
    else throw new HeddleError("invalid", `${path} is neither a file nor a directory`, { loc: ["directory"] });
  }
  return found;
}
