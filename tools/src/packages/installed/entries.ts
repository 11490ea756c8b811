import { readdirSync } from "node:fs";
import { join, parse } from "node:path";
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
      return Object.entries(exports).flatMap(([subpath, target]) => {
        const types = typeof target === "string" ? undefined : target["types"];
        const runs = typeof target !== "string" && target["default"] !== undefined;
        return matchesOf(join(scope, folder), types).map((match) => ({
          package: name,
          specifier: name + subpath.slice(1).replace("*", match),
          types: types && join(scope, folder, types.replace("*", match)),
          runs,
        }));
      });
    });
}

/** What the `*` of a pattern of declarations stands for, by the files that are there; one empty text without a `*`. */
function matchesOf(directory: string, pattern: string | undefined): string[] {
  if (!pattern?.includes("*")) return [""];
  const { dir, base } = parse(pattern);
  const [start = "", end = ""] = base.split("*");
  return readdirSync(join(directory, dir))
    .filter((file) => file.startsWith(start) && file.endsWith(end))
    .map((file) => file.slice(start.length, file.length - end.length))
    .toSorted();
}
