export type Bump = "major" | "minor" | "patch";

export interface Changeset {
  /** Package → the bump it asks for. */
  bumps: Record<string, Bump>;
  summary: string;
}

/** A file of `.changeset/`: package names and bumps between two lines of dashes, then the note. */
export function parseChangeset(text: string): Changeset {
  const [, head = "", summary = ""] = /^---\n([^]*?)^---\n([^]*)$/m.exec(text) ?? [];
  const bumps: Record<string, Bump> = {};
  for (const [, name, bump] of head.matchAll(/^["']?([^"':]+)["']?: *(major|minor|patch) *$/gm)) {
    bumps[name!] = bump as Bump;
  }
  return { bumps, summary: summary.trim() };
}
