import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readManifest } from "../manifests.js";

export interface Entry {
  package: string;
  /** As it is imported: `@heddle/client/tracing`. */
  specifier: string;
  /** Absolute path of the declarations; undefined for JSON. */
  types: string | undefined;
  /** Whether there is code to run. */
  runs: boolean;
}

/** Every entry of every package of this repository that is installed in a project. */
export function installedEntries(project: string): Entry[] {
  const scope = join(project, "node_modules/@heddle");
  return readdirSync(scope)
    .toSorted()
    .flatMap((folder) => {
      const { name, exports = {} } = readManifest(join(scope, folder));
      return Object.entries(exports).map(([subpath, target]) => ({
        package: name,
        specifier: name + subpath.slice(1),
        types: typeof target === "string" ? undefined : join(scope, folder, target["types"] ?? ""),
        runs: typeof target !== "string" && target["default"] !== undefined,
      }));
    });
}
