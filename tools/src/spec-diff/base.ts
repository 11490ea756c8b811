import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";

/** What the working tree is compared with. */
export interface Base {
  commit: string;
  /** As the report names it. */
  name: string;
}

/**
 * The last release of the contract before HEAD; before the first one, the point where this branch left main; on main
 * itself, what was pushed, or the commit before. Undefined when there is none of these, as in a fresh or shallow clone,
 * or when it has no spec.
 */
export function findBase(repository: string): Base | undefined {
  const release = git(repository, "describe", "--tags", "--abbrev=0", "--match", "@heddle/spec@*");
  const candidate = release
    ? { commit: release, name: `release ${release}` }
    : (branchPoint(repository) ?? parent(repository));
  return candidate && git(repository, "ls-tree", candidate.commit, "spec/redocly.yaml") ? candidate : undefined;
}

/** Writes the `spec` folder of a commit below `directory`. */
export function extractSpec(repository: string, { commit }: Base, directory: string): void {
  mkdirSync(directory, { recursive: true });
  const archive = join(directory, "spec.tar");
  execFileSync("git", ["archive", "--format=tar", `--output=${archive}`, commit, "spec"], { cwd: repository });
  execFileSync("tar", ["-xf", archive], { cwd: directory });
}

/** Files of `.changeset/` that are not in the base, or with another text. */
export function changesetsSince(repository: string, { commit }: Base): Set<string> {
  const changed = git(repository, "diff", "--name-only", "--no-renames", commit, "--", ".changeset");
  const untracked = git(repository, "ls-files", "--others", "--exclude-standard", "--", ".changeset");
  return new Set(`${changed}\n${untracked}`.split("\n").map((path) => basename(path)));
}

function branchPoint(repository: string): Base | undefined {
  for (const main of ["origin/main", "main"]) {
    const commit = git(repository, "merge-base", "HEAD", main);
    if (commit && commit !== git(repository, "rev-parse", "HEAD"))
      return { commit, name: `where this branch left ${main}` };
  }
  return undefined;
}

function parent(repository: string): Base | undefined {
  const commit = git(repository, "rev-parse", "--verify", "--quiet", "HEAD^1");
  return commit ? { commit, name: "the commit before" } : undefined;
}

/** The output of git; empty when it fails. */
function git(repository: string, ...args: string[]): string {
  try {
    return execFileSync("git", args, { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}
