import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { larger } from "../changesets.js";
import type { Bump } from "../changesets.js";
import { redocly, runRedocly } from "../redocly.js";

export interface Change {
  impact: Bump;
  /** Which rule rated it; absent for additions and changes of wording. */
  rule?: string;
  /** `POST /call/read › request › new_one` */
  location: string;
  sentence: string;
}

/** The part of the report of `redocly diff --format=json` that is read here. */
interface Report {
  changes: {
    path: string;
    kind: "added" | "removed" | "modified";
    impact: Bump;
    property?: string;
    verdicts: { ruleId: string; message: string }[];
  }[];
}

/** Bundles the documents of a `spec` folder into its `dist`, as `pnpm generate` does. */
export async function bundle(spec: string): Promise<void> {
  await redocly(["bundle", "--ext", "json"], spec);
}

/** Every change between two folders of bundled documents. An added document is minor, a removed one is major. */
export async function rateDocuments(base: string, revision: string, work: string): Promise<Change[]> {
  const names = [...new Set([base, revision].flatMap((directory) => readdirSync(directory)))]
    .filter((name) => name.endsWith(".json"))
    .toSorted();
  const changes: Change[] = [];
  for (const name of names) {
    const location = name.replace(".json", "");
    if (!existsSync(join(base, name))) changes.push({ impact: "minor", location, sentence: "a new interface" });
    else if (!existsSync(join(revision, name)))
      changes.push({ impact: "major", location, sentence: "the interface is removed" });
    else changes.push(...(await rateDocument(join(base, name), join(revision, name), work)));
  }
  return changes;
}

/** Rates each change between two bundled documents. `work` is a temporary folder for the configuration. */
export async function rateDocument(base: string, revision: string, work: string): Promise<Change[]> {
  const config = join(work, "redocly.yaml");
  // Without these rules no change is rated as breaking.
  writeFileSync(config, 'extends: [diff-recommended]\ntelemetry: "off"\n');
  const args = ["diff", base, revision, "--config", config, "--format", "json", "--fail-on", "none"];
  const { code, stdout, stderr } = await runRedocly(args, work);
  if (code !== 0) throw new Error(`redocly diff ended with ${code}:\n${stdout}${stderr}`);
  return (JSON.parse(stdout) as Report).changes.map(readChange);
}

export function requiredBump(changes: Change[]): Bump | undefined {
  return changes.map(({ impact }) => impact).reduce<Bump | undefined>(larger, undefined);
}

function readChange({ path, kind, impact, property, verdicts }: Report["changes"][number]): Change {
  const [first] = verdicts;
  const what = property === undefined ? kind : `${property} ${kind}`;
  return {
    impact,
    ...(first && { rule: first.ruleId }),
    location: locationOf(path),
    sentence: first ? verdicts.map(({ message }) => message).join(" ") : what,
  };
}

// Steps of the path that only reflect the structure of a document.
const structuralSteps = new Set(["content", "schema", "properties", "application/json", "items"]);

/** `#/paths/~1call~1read/post/requestBody/content/…` → `POST /call/read › requestBody › …` */
function locationOf(pointer: string): string {
  const steps = pointer
    .slice(2)
    .split("/")
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  if (steps[0] !== "paths") return steps.join(" › ");
  const [, path = "", method, ...rest] = steps;
  const operation = method ? `${method.toUpperCase()} ${path}` : path;
  return [operation, ...rest.filter((step) => !structuralSteps.has(step))].join(" › ");
}
