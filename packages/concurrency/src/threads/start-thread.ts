import type { WorkerOptions } from "node:worker_threads";
import { Worker } from "node:worker_threads";
import { entryModule, sourceConditions } from "./entry-module.js";

let onOutput: ((text: string) => void) | undefined;

/**
 * Passes what threads that are started from now on write to stderr to `listener`, in pieces, instead of to stderr of the
 * process. Undefined undoes this. While it is read, such a thread keeps its process alive, also after `unref`.
 */
export function onThreadOutput(listener: ((text: string) => void) | undefined): void {
  onOutput = listener;
}

/** Starts a module of a package, given by the URL of its TypeScript source, as a worker thread, see {@link entryModule}. */
export function startThread(module: URL, options: WorkerOptions): Worker {
  const listener = options.stderr === undefined ? onOutput : undefined;
  const worker = newWorker(module, { ...options, stderr: options.stderr ?? listener !== undefined });
  if (listener) worker.stderr.setEncoding("utf8").on("data", (text: string) => listener(text.trimEnd()));
  return worker;
}

function newWorker(module: URL, options: WorkerOptions): Worker {
  const { url, execArgv } = entryModule(module);
  // Options of the process, such as `--input-type` next to `--eval`, would keep a thread from starting with a file.
  if (execArgv.length === 0) return new Worker(url, { ...options, execArgv: [] });
  // A thread does not inherit the TypeScript loader of its process.
  const loader = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const script = `import(${loader}).then((tsx) => { tsx.register(); return import(${JSON.stringify(url.href)}); });`;
  return new Worker(script, { ...options, eval: true, execArgv: [...sourceConditions] });
}
