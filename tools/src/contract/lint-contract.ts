import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { isEntry } from "../entry.js";
import { runRedocly } from "../redocly.js";
import type { Outcome } from "../redocly.js";
import type { Finding } from "./finding.js";
import { findingLines } from "./finding.js";

/** The parts of a problem in the report of `redocly lint --format=json` that are read here. */
interface Problem {
  ruleId: string;
  message: string;
  suggest?: string[];
  location: { source: { ref: string }; pointer: string; start: { line: number }; end?: { line: number } }[];
  from?: { source: { ref: string } };
}

/** Everything that the rules of `redocly.yaml` find in the documents and stories of a `spec` folder. */
export async function lintContract(spec: string, signal?: AbortSignal): Promise<Finding[]> {
  const stories = readdirSync(join(spec, "stories"))
    .filter((file) => file.endsWith(".arazzo.yaml"))
    .map((file) => `stories/${file}`);
  const runs = [["tracing"], ["training", ...stories]].map((apis) => lint(spec, apis, signal));
  return (await Promise.all(runs)).flat();
}

async function lint(spec: string, apis: string[], signal?: AbortSignal): Promise<Finding[]> {
  const outcome = await runRedocly(["lint", ...apis, "--format=json", "--max-problems=1000"], spec, signal);
  const problems = reportsIn(outcome.stdout).flatMap((report) => report.problems);
  // An invalid schema is reported where it stands; that its examples cannot be judged follows from it.
  const causes = problems.filter(({ message }) => !message.startsWith("Example validation errored"));
  const findings = (causes.length > 0 ? causes : problems).map((problem) => findingOf(spec, problem));
  return outcome.code === 0 || findings.length > 0 ? findings : unparsed(spec, outcome);
}

/** The command prints one report after the other, each of which begins and ends in lines of one brace. */
function reportsIn(stdout: string): { problems: Problem[] }[] {
  return [...stdout.matchAll(/^\{$[^]*?^\}/gm)].map(([text]) => JSON.parse(text) as { problems: Problem[] });
}

function findingOf(spec: string, problem: Problem): Finding {
  const syntax = syntaxError(spec, problem.message);
  if (syntax) return syntax;
  const [{ source, start, pointer, end = start }] = problem.location as [Problem["location"][number]];
  const { ref: file } = source;
  return {
    file,
    line: start.line,
    message: messageOf(spec, problem, { file, pointer, from: start.line, to: end.line }),
  };
}

/** The error of a YAML parser, which names file, line and column: `… in "/spec/a.yaml" (163:6)`. */
function syntaxError(spec: string, text: string): Finding | undefined {
  const [, reason, path, line] = /(?:: |- |^)([^\n]*) in "([^"]+)" \((\d+):\d+\)/.exec(text) ?? [];
  if (!path) return undefined;
  return { file: relative(spec, path), line: Number(line), message: `correct the YAML: ${reason!.split(": ").at(-1)}` };
}

interface Location {
  file: string;
  pointer: string;
  from: number;
  to: number;
}

function messageOf(spec: string, { ruleId, message, suggest = [], from }: Problem, location: Location): string {
  if (ruleId === "no-unresolved-refs") return unresolvedRef(spec, location);
  if (suggest.length > 0) return `${message} Correct it to one of: ${suggest.join(", ")}.`;
  if (!ruleId.startsWith("no-invalid-") || !from) return message;
  const reason = message.replace(/^Example value must conform to the schema: /, "");
  return `the example contradicts its schema: ${reason} Correct the example, or the schema of spec/${from.source.ref}.`;
}

/** References that the plugin adds are to examples, by the operationId; the others are written at the location. */
function unresolvedRef(spec: string, { file, pointer, from, to }: Location): string {
  const [, example] = /\/examples\/(\w+)$/.exec(pointer) ?? [];
  if (example) {
    const examples = file.replace(/^.*\/paths\//, "examples/");
    return `spec/${examples} has no ${example}: add it, or correct the operationId.`;
  }
  const lines = readFileSync(join(spec, file), "utf8")
    .split("\n")
    .slice(from - 1, to);
  const [, ref] = /\$ref:\s*["']?([^\s"',}]+)/.exec(lines.join("\n")) ?? [];
  return ref ? `nothing is at ${ref}: correct the file or the name.` : "this $ref leads to nothing: correct it.";
}

/** A document that cannot be read at all has no report: the reason is in the text. */
function unparsed(spec: string, { stdout, stderr }: Outcome): Finding[] {
  const text = stdout + stderr;
  return [syntaxError(spec, text) ?? { file: "redocly.yaml", line: 1, message: `the linter failed:\n${text.trim()}` }];
}

if (isEntry(import.meta.url)) {
  const lines = findingLines(await lintContract(resolve(process.argv[2] ?? ".")));
  for (const line of lines) console.error(line);
  if (lines.length > 0) process.exitCode = 1;
}
