import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bumps, larger, readChangesets } from "../changesets.js";
import type { Bump, Changeset } from "../changesets.js";

type Note = Pick<Changeset, "summary" | "bumps">;

/** The packages that share one version. */
const ofOneVersion = ["spec", ...["client", "server-stub", "service", "docs"].map((name) => `packages/${name}`)];

/** What changed, newest first, as Markdown: the pending changesets, then the released notes of what people use. */
export function changelogMarkdown(repository: string): string {
  const pending = byKind(readChangesets(repository));
  const parts = ["# Changelog", "What changed for those who use the packages or run the service."];
  if (pending.length > 0) parts.push("## Not yet released", ...pending);
  for (const [version, notes] of releases(repository, ofOneVersion)) parts.push(`## ${version}`, ...byKind(notes));
  for (const [version, notes] of releases(repository, ["packages/console"]))
    parts.push(`## Console ${version}`, ...byKind(notes));
  if (parts.length === 2) parts.push("Nothing has been released yet.");
  return `${parts.join("\n\n")}\n`;
}

const titles: Readonly<Record<Bump, string>> = {
  major: "What breaks",
  minor: "What is new",
  patch: "What is repaired",
};

/** Notes below what kind of change they are about: the largest one that a package has of them. */
export function byKind(changesets: readonly Note[]): string[] {
  const kindOf = (changeset: Note) =>
    Object.values(changeset.bumps).reduce<Bump | undefined>((largest, bump) => larger(largest, bump), undefined);
  return bumps.toReversed().flatMap((kind) => {
    const notes = changesets.filter((one) => kindOf(one) === kind).map(note);
    return notes.length === 0 ? [] : [`### ${titles[kind]}`, notes.join("\n")];
  });
}

/** An item of a list: the first line with the packages, then the others, which may be a list themselves. */
export function note({ summary, bumps: asked }: Note): string {
  const [first = "", ...others] = summary.split("\n");
  const lines = others.map((line) => (line === "" ? "" : `  ${line}`));
  return [`- ${first} (${Object.keys(asked).join(", ")})`, ...lines].join("\n");
}

/** Version → its notes, newest first: what several packages say in the same words is one note. */
function releases(repository: string, directories: readonly string[]): Map<string, Note[]> {
  const found = new Map<string, Map<string, Note>>();
  for (const directory of directories) {
    const path = join(repository, directory, "CHANGELOG.md");
    for (const { name, version, bump, summary } of existsSync(path) ? readReleases(readFileSync(path, "utf8")) : []) {
      const notes = found.get(version) ?? new Map<string, Note>();
      const same = notes.get(summary) ?? { summary, bumps: {} };
      same.bumps[name] = bump;
      found.set(version, notes.set(summary, same));
    }
  }
  return new Map([...found].map(([version, notes]) => [version, [...notes.values()]]));
}

/** The notes of a CHANGELOG of changesets: `## <version>`, `### <bump> Changes`, an item per note. */
export function readReleases(text: string): { name: string; version: string; bump: Bump; summary: string }[] {
  const [, name = ""] = /^# (.*)$/m.exec(text) ?? [];
  const heads = /^## (?<version>\S+)$|^### (?<bump>Major|Minor|Patch) Changes$/;
  let version = "";
  let bump: Bump = "patch";
  const notes: { name: string; version: string; bump: Bump; summary: string }[] = [];
  for (const line of text.split("\n")) {
    const head = heads.exec(line)?.groups;
    if (head?.["version"]) version = head["version"];
    else if (head?.["bump"]) bump = head["bump"].toLowerCase() as Bump;
    else if (line.startsWith("- ")) notes.push({ name, version, bump, summary: line.slice(2) });
    else if (version !== "" && notes.length > 0) notes.at(-1)!.summary += `\n${line.replace(/^ {2}/, "")}`;
  }
  // What only names the versions of other packages is nothing that a reader notices.
  return notes
    .map((one) => ({ ...one, summary: one.summary.trim() }))
    .filter(({ summary }) => !/^Needs `@heddle\/[^\n]*$/.test(summary));
}
