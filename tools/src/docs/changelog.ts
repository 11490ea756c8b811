import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { larger, readChangesets } from "../changesets.js";
import type { Bump, Changeset } from "../changesets.js";

/** What changed, newest first, as Markdown: the pending changesets, then the released notes of contract and service. */
export function changelogMarkdown(repository: string): string {
  const pending = byKind(readChangesets(repository));
  const parts = ["# Changelog", "What changed for those who use the packages or run the service."];
  if (pending.length > 0) parts.push("## Not yet released", ...pending);
  // The packages of the contract share one version and one text; the client's copy is used.
  parts.push(...released(repository, "client", "Contract, client, server stub"));
  parts.push(...released(repository, "service", "Service"));
  if (parts.length === 2) parts.push("Nothing has been released yet.");
  return `${parts.join("\n\n")}\n`;
}

const kinds: readonly (readonly [Bump, string])[] = [
  ["major", "What breaks"],
  ["minor", "What is new"],
  ["patch", "What is repaired"],
];

/** Notes below what kind of change they are about: the largest one that a package has of them. */
export function byKind(changesets: readonly Pick<Changeset, "summary" | "bumps">[]): string[] {
  const kindOf = ({ bumps }: Pick<Changeset, "bumps">) =>
    Object.values(bumps).reduce<Bump | undefined>((largest, bump) => larger(largest, bump), undefined);
  return kinds.flatMap(([kind, title]) => {
    const notes = changesets.filter((one) => kindOf(one) === kind).map(note);
    return notes.length === 0 ? [] : [`### ${title}`, notes.join("\n")];
  });
}

/** An item of a list: the first line with the packages, then the others, which may be a list themselves. */
export function note({ summary, bumps }: Pick<Changeset, "summary" | "bumps">): string {
  const [first = "", ...others] = summary.split("\n");
  const lines = others.map((line) => (line === "" ? "" : `  ${line}`));
  return [`- ${first} (${Object.keys(bumps).join(", ")})`, ...lines].join("\n");
}

function released(repository: string, name: string, title: string): string[] {
  const file = join(repository, "packages", name, "CHANGELOG.md");
  if (!existsSync(file)) return [];
  const notes = readFileSync(file, "utf8")
    .replace(/^# .*\n/, "")
    .replace(/^##/gm, "###");
  return [`## ${title}`, notes.trim()];
}
