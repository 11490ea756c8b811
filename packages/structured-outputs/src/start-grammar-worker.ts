import type { Worker } from "node:worker_threads";
import { startThread } from "@heddle/concurrency";
import type { GrammarWorkerData } from "./grammar-worker-protocol.js";

export function startGrammarWorker(workerData: GrammarWorkerData): Worker {
  return startThread(new URL("./grammar-worker.ts", import.meta.url), {
    workerData,
    // Limits of the JavaScript heap; the grammars are in wasm memory.
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
  });
}
