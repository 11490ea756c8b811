import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { bumpBetween, bumps, larger, readChangesets } from "../changesets.js";
import type { Bump } from "../changesets.js";
import { isEntry } from "../entry.js";
import { changesetsSince, extractSpec, findBase } from "./base.js";
import type { Base } from "./base.js";
import { bundle, rateDocuments, requiredBump } from "./rating.js";
import type { Change } from "./rating.js";

const contract = "@heddle/spec";

export interface Verdict {
  /** False when the pending changesets ask for less than the change of the contract needs. */
  enough: boolean;
  text: string;
}

/** Compares the contract in the working tree with its base (see `findBase`) and with the pending changesets. */
export async function specDiff(repository: string): Promise<Verdict> {
  const base = findBase(repository);
  if (!base)
    return { enough: true, text: "spec:diff: there is no earlier contract to compare with (fresh or shallow clone)." };
  const work = mkdtempSync(join(tmpdir(), "heddle-spec-diff-"));
  try {
    const now = join(work, "now/spec");
    mkdirSync(now, { recursive: true });
    cpSync(join(repository, "spec"), now, { recursive: true, filter: isSource });
    extractSpec(repository, base, join(work, "base"));
    const before = join(work, "base/spec");
    await bundle(before);
    await bundle(now);
    const changes = await rateDocuments(join(before, "dist"), join(now, "dist"), work);
    const released = bumpBetween(versionOf(before), versionOf(now));
    return judge(base.name, changes, askedBumps(repository, base, released));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The bumps that the changesets ask for. */
export interface AskedBumps {
  /** Largest of all pending changesets, for any package that shares the version of the contract. */
  pending: Bump | undefined;
  /** Largest of the changesets since the base that name the contract itself. */
  ofContract: Bump | undefined;
}

/**
 * The report, and whether the changesets suffice. A breaking change needs one of its own that says major for
 * `@heddle/spec`; for everything else the next version has to be large enough.
 */
export function judge(base: string, changes: Change[], asked: AskedBumps): Verdict {
  const required = requiredBump(changes);
  const given = required === "major" ? asked.ofContract : asked.pending;
  const enough = bumps.indexOf(given!) >= bumps.indexOf(required!);
  const lines = [`The contract against ${base}:`, ...table(changes)];
  if (!required) lines.push("nothing changed.");
  else if (required !== "major")
    lines.push(`It needs a ${required} bump; the pending changesets ask for ${given ?? "none"}.`);
  else {
    const said = given ? `say ${given}` : "do not name it";
    lines.push(`It needs a changeset that says major for @heddle/spec; those since then ${said}.`);
  }
  if (!enough)
    lines.push(
      `Run \`npx -y pnpm@10.34.9 changeset\`, choose @heddle/spec and ${required}, and describe what users will notice.`,
    );
  return { enough, text: lines.join("\n") };
}

function isSource(path: string): boolean {
  return !["node_modules", "dist"].includes(basename(path));
}

function table(changes: Change[]): string[] {
  const count = (impact: Bump) => changes.filter((change) => change.impact === impact);
  const rows = [...count("major"), ...count("minor")].map(
    ({ impact, location, sentence }) => `  ${impact.padEnd(6)} ${location}: ${sentence}`,
  );
  const wording = count("patch").length;
  return wording > 0 ? [...rows, `  patch  ${wording} changes of descriptions and examples`] : rows;
}

/** `released` is the difference between the version of the base and the present one. */
function askedBumps(repository: string, base: Base, released: Bump | undefined): AskedBumps {
  const { fixed } = JSON.parse(readFileSync(join(repository, ".changeset/config.json"), "utf8")) as {
    fixed: string[][];
  };
  const group = fixed.find((names) => names.includes(contract)) ?? [contract];
  const changesets = readChangesets(repository);
  const since = changesetsSince(repository, base);
  const largest = (asked: (Bump | undefined)[]) => asked.reduce<Bump | undefined>(larger, released);
  return {
    pending: largest(changesets.flatMap((changeset) => group.map((name) => changeset.bumps[name]))),
    ofContract: largest(changesets.filter(({ file }) => since.has(file)).map((changeset) => changeset.bumps[contract])),
  };
}

function versionOf(spec: string): string {
  return (JSON.parse(readFileSync(join(spec, "package.json"), "utf8")) as { version: string }).version;
}

if (isEntry(import.meta.url)) {
  const { enough, text } = await specDiff(resolve("."));
  console.log(text);
  if (!enough) process.exitCode = 1;
}
