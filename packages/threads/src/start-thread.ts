import type { WorkerOptions } from "node:worker_threads";
import { Worker } from "node:worker_threads";

/** Options of node with which packages of this repository are imported from source. */
export const sourceConditions: readonly string[] = ["--conditions", "@heddle/source"];

let onOutput: ((text: string) => void) | undefined;

/**
 * Passes what threads that are started from now on write to stderr to `listener`, in pieces, instead of to stderr of the
 * process. Undefined undoes this. While it is read, such a thread keeps its process alive, also after `unref`.
 */
export function onThreadOutput(listener: ((text: string) => void) | undefined): void {
  onOutput = listener;
}

/**
 * Starts a module of this package, given by the URL of its TypeScript source, as a worker thread. Uses the compiled
 * module if this one is compiled.
 */
export function startThread(module: URL, options: WorkerOptions): Worker {
  const listener = options.stderr === undefined ? onOutput : undefined;
  const worker = newWorker(module, { ...options, stderr: options.stderr ?? listener !== undefined });
  if (listener) worker.stderr.setEncoding("utf8").on("data", (text: string) => listener(text.trimEnd()));
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
