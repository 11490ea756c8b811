import { join, resolve } from "node:path";
import { isEntry } from "../entry.js";
import { writeFiles } from "../generated-files.js";
import { documentsIn } from "../model/documents.js";
import { readModel } from "../model/read-model.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";
import { runRedocly } from "../redocly.js";
import { specLimits, specTypes } from "../types/generate-types.js";
import type { Finding } from "./finding.js";
import { findingLines } from "./finding.js";
import { lintContract } from "./lint-contract.js";
import { sourceLocation } from "./source-location.js";

/** Bundles the documents of a `spec` folder into its `dist` and writes their types. Returns what prevented it. */
export async function generateContract(spec: string): Promise<Finding[]> {
  const bundled = await runRedocly(["bundle"], spec);
  if (bundled.code !== 0) return bundleFindings(spec, bundled.stdout + bundled.stderr);
  const dist = join(spec, "dist");
  for (const file of documentsIn(dist)) {
    const name = file.replace(/\.json$/, "");
    try {
      const model = readModel(join(dist, file));
      writeFiles(dist, { ...(await specTypes(model)), ...specLimits(model) });
    } catch (error) {
      if (!(error instanceof UnsupportedSpecError)) throw error;
      return [{ ...sourceLocation(spec, name, error.pointer), message: error.reason }];
    }
  }
  return [];
}

/** What the linter finds in documents that cannot be bundled; it names locations. */
async function bundleFindings(spec: string, output: string): Promise<Finding[]> {
  const findings = await lintContract(spec);
  return findings.length > 0 ? findings : [{ file: "redocly.yaml", line: 1, message: `bundling failed:\n${output}` }];
}

if (isEntry(import.meta.url)) {
  const lines = findingLines(await generateContract(resolve(process.argv[2] ?? ".")));
  for (const line of lines) console.error(line);
  if (lines.length > 0) process.exitCode = 1;
}
