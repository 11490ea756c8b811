import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readManifest } from "./manifests.js";
import type { Manifest } from "./manifests.js";

const licenceFile = /^(?:licen[cs]e|copying)(?:[.-].*)?$/i;

/**
 * The notices that the licences of bundled libraries ask for: name, version and licence of every package that one of the files
 * is from, and the text of its licence. Files of this repository are left out. Throws for a package without such a text.
 */
export function noticesOf(files: readonly string[]): string {
  const directories = new Set(files.flatMap((file) => packageOf(resolve(file)) ?? []));
  const notices = [...directories]
    .map((directory) => ({ directory, manifest: readManifest(directory) }))
    .toSorted((one, other) => keyOf(one.manifest).localeCompare(keyOf(other.manifest)))
    .map(({ directory, manifest }) => noticeOf(directory, manifest));
  return `This package contains these libraries.\n\n${notices.join("\n\n")}`;
}

const keyOf = ({ name, version }: Manifest): string => `${name} ${version}`;

function noticeOf(directory: string, manifest: Manifest): string {
  const file = readdirSync(directory).find((name) => licenceFile.test(name));
  if (file === undefined) throw new Error(`${directory} has no text of its licence`);
  const text = readFileSync(join(directory, file), "utf8").trim();
  return `${"-".repeat(80)}\n${keyOf(manifest)}, ${manifest.license}\n\n${text}\n`;
}

/** The directory of the installed package that a file belongs to; undefined for one of the repository. */
function packageOf(file: string): string | undefined {
  return /^(.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/.exec(file)?.[1];
}
