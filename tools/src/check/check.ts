import { spawn } from "node:child_process";
import { isEntry } from "../entry.js";

export interface Step {
  name: string;
  /** A shell command, run at the root of the repository. Every tool is on the path inside a pnpm script. */
  command: string;
  /** What to do when it fails: a command that fixes it, or where to look. */
  fix: string;
}

const pnpm = "npx -y pnpm@10.34.9";

/** Every check except the tests, fastest and most informative first. */
export const checkSteps: Step[] = [
  { name: "format", command: "pnpm format:check", fix: `${pnpm} format` },
  { name: "generate", command: "pnpm generate", fix: "correct the YAML at the location above, or the generator" },
  { name: "lint", command: "pnpm lint", fix: `${pnpm} lint --fix, then by hand` },
  {
    name: "types",
    command: "pnpm exec tsc -p tsconfig.json && pnpm exec tsc -p packages/console/tsconfig.json",
    fix: "correct the types above; after a change of the spec, the handlers",
  },
  { name: "unused code", command: "pnpm knip", fix: "delete what is named above, or use it" },
  { name: "boundaries", command: "pnpm boundaries", fix: "import by package name, and only what package.json names" },
  { name: "build", command: "pnpm build", fix: `${pnpm} build, and correct what it names` },
  {
    name: "packages",
    command: "pnpm packages",
    fix: `what installed packages lack is named above; after a wanted change of exports: ${pnpm} packages -u`,
  },
  { name: "contract", command: "pnpm spec:diff", fix: `${pnpm} changeset` },
];

/**
 * Runs the steps in order, one line each. Stops at the first failure with its output and the fix; returns whether all
 * pass.
 */
export async function runSteps(steps: Step[], print: (line: string) => void): Promise<boolean> {
  const started = performance.now();
  for (const { name, command, fix } of steps) {
    const begun = performance.now();
    const { code, output } = await run(command);
    print(`${code === 0 ? "ok    " : "FAILED"} ${name.padEnd(20)} ${seconds(begun)}`);
    if (code !== 0) {
      print(`\n$ ${command}\n${output.trim()}\n\nTo fix: ${fix}`);
      return false;
    }
  }
  print(`\nAll ${steps.length} checks pass (${seconds(started)}).`);
  return true;
}

function run(command: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const take = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

if (isEntry(import.meta.url)) {
  const held = await runSteps(checkSteps, console.log);
  if (!held) process.exitCode = 1;
}
