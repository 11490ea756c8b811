import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const bumps = ["patch", "minor", "major"] as const;
export type Bump = (typeof bumps)[number];

export interface Changeset {
  /** File name in `.changeset/`. */
  file: string;
  /** Package → the bump it asks for. */
  bumps: Record<string, Bump>;
  summary: string;
}

/** The pending changesets of a repository: every file of `.changeset/` but its README. */
export function readChangesets(repository: string): Changeset[] {
  const directory = join(repository, ".changeset");
  return readdirSync(directory)
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .toSorted()
    .map((file) => ({ file, ...parseChangeset(readFileSync(join(directory, file), "utf8")) }));
}

/** Package names and bumps between two lines of dashes, then the note. */
export function parseChangeset(text: string): Omit<Changeset, "file"> {
  const [, head = "", summary = ""] = /^---\r?\n([^]*?)^---\r?\n([^]*)/m.exec(text) ?? [];
  const found: Record<string, Bump> = {};
  for (const [, name, bump] of head.matchAll(/^["']?([^"':\s]+)["']?: *["']?(major|minor|patch)\b/gm)) {
    found[name!] = bump as Bump;
  }
  return { bumps: found, summary: summary.trim() };
}

/** The larger of two bumps; undefined is none. */
export function larger(a: Bump | undefined, b: Bump | undefined): Bump | undefined {
  return bumps.indexOf(a!) > bumps.indexOf(b!) ? a : b;
}

/** The bump from one version to another; undefined when the second is not later. */
export function bumpBetween(before: string, after: string): Bump | undefined {
  const [old, now] = [before, after].map((version) => version.split(".").map((part) => Number.parseInt(part, 10)));
  const position = [0, 1, 2].find((index) => now![index] !== old![index]);
  if (position === undefined || now![position]! < old![position]!) return undefined;
  return (["major", "minor", "patch"] as const)[position];
}
