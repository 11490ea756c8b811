// Keeps what is generated from the spec up to date while somebody edits it: `pnpm dev`.
import { join, resolve } from "node:path";
import { findingLines } from "../contract/finding.js";
import { lintContract } from "../contract/lint-contract.js";
import { regenerate } from "./regenerate.js";
import { watchDirectories } from "./watch-directories.js";

const repository = resolve(import.meta.dirname, "../../..");
const spec = join(repository, "spec");

const compiled = new Map<string, string>();
let linting = new AbortController();

async function run(): Promise<void> {
  linting.abort();
  const started = performance.now();
  const prevented = await regenerate(repository, compiled);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  for (const line of findingLines(prevented)) console.error(line);
  if (prevented.length > 0) return;
  console.log(`generated from the spec in ${seconds} s`);
  linting = new AbortController();
  lint(linting.signal).catch(console.error);
}

/** Not waited for: what it finds keeps nobody from trying a change, and the next change ends it. */
async function lint(signal: AbortSignal): Promise<void> {
  const findings = await lintContract(spec, signal);
  if (!signal.aborted) for (const line of findingLines(findings)) console.error(line);
}

await watchDirectories([spec], run, console.error);
