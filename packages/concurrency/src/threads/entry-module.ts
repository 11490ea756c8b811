import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** How a process starts with a module. */
export interface EntryModule {
  url: URL;
  /** Arguments of node in front of it; none for a compiled module. */
  execArgv: readonly string[];
}

/** Options of node with which packages of this repository are imported from source. */
export const sourceConditions: readonly string[] = ["--conditions", "@heddle/source"];

/**
 * What to start for a module of a package, given by the URL of its TypeScript source: where packages are installed, the
 * compiled module. In the repository, whose packages run from source, that too if `HEDDLE_COMPILED` names a directory
 * of compiled packages (`<name>/dist/…` each), since starting tsx takes longer than most of what is started; else the source.
 */
export function entryModule(source: URL): EntryModule {
  if (!import.meta.url.endsWith(".ts")) return { url: new URL(source.href.replace(/ts$/, "js")), execArgv: [] };
  const compiled = compiledModule(source);
  if (compiled !== undefined) return { url: compiled, execArgv: [] };
  const tsx = createRequire(import.meta.url).resolve("tsx");
  return { url: source, execArgv: [...sourceConditions, "--import", pathToFileURL(tsx).href] };
}

function compiledModule(source: URL): URL | undefined {
  const directory = process.env["HEDDLE_COMPILED"];
  const parts = source.pathname.split("/");
  const at = parts.lastIndexOf("packages");
  if (!directory || at < 0 || parts[at + 2] !== "src") return undefined;
  const path = parts.slice(at + 3).join("/");
  return new URL(`@heddle/${parts[at + 1]}/dist/${path.replace(/ts$/, "js")}`, `${pathToFileURL(directory).href}/`);
}
