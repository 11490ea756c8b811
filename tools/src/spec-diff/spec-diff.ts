import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { bumpBetween, bumps, larger, readChangesets } from "../changesets.js";
import type { Bump } from "../changesets.js";
import { isEntry } from "../entry.js";
import { extractSpec, findBase } from "./base.js";
import { bundle, rateDocuments, requiredBump } from "./rating.js";
import type { Change } from "./rating.js";

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
    const [old, version] = [versionOf(before), versionOf(now)];
    const pending = larger(bumpBetween(old, version), pendingBump(repository));
    return judge(base.name, changes, version, pending);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The report, and whether `pending` suffices for the changes. Before 1.0 a major change asks for a minor bump. */
export function judge(base: string, changes: Change[], version: string, pending: Bump | undefined): Verdict {
  const impact = requiredBump(changes);
  const required = impact === "major" && version.startsWith("0.") ? "minor" : impact;
  const enough = bumps.indexOf(pending!) >= bumps.indexOf(required!);
  const lines = [`The contract against ${base}:`, ...table(changes)];
  if (!required) lines.push("nothing changed.");
  else lines.push(`It needs a ${required} bump; the pending changesets ask for ${pending ?? "none"}.`);
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

/** The largest bump asked for any package that shares the contract's version (`fixed` in the changesets' settings). */
function pendingBump(repository: string): Bump | undefined {
  const { fixed } = JSON.parse(readFileSync(join(repository, ".changeset/config.json"), "utf8")) as {
    fixed: string[][];
  };
  const group = fixed.find((names) => names.includes("@heddle/spec")) ?? ["@heddle/spec"];
  return readChangesets(repository)
    .flatMap((changeset) => group.map((name) => changeset.bumps[name]))
    .reduce<Bump | undefined>(larger, undefined);
}

function versionOf(spec: string): string {
  return (JSON.parse(readFileSync(join(spec, "package.json"), "utf8")) as { version: string }).version;
}

if (isEntry(import.meta.url)) {
  const { enough, text } = await specDiff(resolve("."));
  console.log(text);
  if (!enough) process.exitCode = 1;
}
