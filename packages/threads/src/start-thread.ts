import type { WorkerOptions } from "node:worker_threads";
import { Worker } from "node:worker_threads";

/** Options of node with which packages of this repository are imported from source. */
export const sourceConditions: readonly string[] = ["--conditions", "@heddle/source"];

const toStderr = (text: string): void => void process.stderr.write(`${text}\n`);
let onOutput = toStderr;

/** Passes what threads write to stderr to `listener`, in pieces, instead of to stderr of the process. Undefined undoes this. */
export function onThreadOutput(listener: ((text: string) => void) | undefined): void {
  onOutput = listener ?? toStderr;
}

/**
 * Starts a module of this package, given by the URL of its TypeScript source, as a worker thread. Uses the compiled
 * module if this one is compiled.
 */
export function startThread(module: URL, options: WorkerOptions): Worker {
  const worker = newWorker(module, { stderr: true, ...options });
  if (options.stderr === undefined) {
    worker.stderr.setEncoding("utf8").on("data", (text: string) => onOutput(text.trimEnd()));
  }
  return worker;
}

function newWorker(module: URL, options: WorkerOptions): Worker {
  if (!import.meta.url.endsWith(".ts")) return new Worker(new URL(module.href.replace(/ts$/u, "js")), options);
  // A thread does not inherit the TypeScript loader of its process.
  const loader = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const entry = JSON.stringify(module.href);
  const script = `import(${loader}).then((tsx) => { tsx.register(); return import(${entry}); });`;
  return new Worker(script, { ...options, eval: true, execArgv: [...sourceConditions] });
}
