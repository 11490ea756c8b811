import { Worker, type WorkerOptions } from "node:worker_threads";
import type { WorkerData } from "./worker-protocol.js";

/** Starts `grammar-worker` beside this file, built or from source. */
export function startGrammarWorker(workerData: WorkerData): Worker {
  const options: WorkerOptions = {
    workerData,
    // Of JavaScript's own heap; the grammars lie in wasm memory.
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
  };
  if (!import.meta.url.endsWith(".ts")) return new Worker(new URL("./grammar-worker.js", import.meta.url), options);
  // From source: a thread does not inherit the TypeScript loader of its process.
  const loader = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const entry = JSON.stringify(new URL("./grammar-worker.ts", import.meta.url).href);
  const script = `import(${loader}).then((tsx) => { tsx.register(); return import(${entry}); });`;
  return new Worker(script, { ...options, eval: true });
}
