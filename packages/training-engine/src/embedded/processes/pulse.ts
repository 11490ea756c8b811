import { Worker } from "node:worker_threads";
import type { PulseData } from "./pulse-thread.js";

/** The child's end of the pipe that carries the beats; 3 is the channel of messages. */
export const pulseDescriptor = 4;
export const pulseEveryMs = 500;

/** Starts the beats of this child process. They say two things: the process runs, and its main thread turns. */
export function startPulse(): void {
  const turns = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(turns, 0, 1), pulseEveryMs / 2).unref();
  const workerData: PulseData = { turns, descriptor: pulseDescriptor, everyMs: pulseEveryMs };
  const worker = startThread(workerData);
  worker.unref();
  worker.on("error", (error) => {
    process.stderr.write(`the heartbeat ended: ${error.stack ?? error.message}\n`, () => process.exit(1));
  });
}

function startThread(workerData: PulseData): Worker {
  if (!import.meta.url.endsWith(".ts")) {
    return new Worker(new URL("./pulse-thread.js", import.meta.url), { workerData });
  }
  // From source: a thread does not inherit the TypeScript loader of its process.
  const loader = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const entry = JSON.stringify(new URL("./pulse-thread.ts", import.meta.url).href);
  const script = `import(${loader}).then((tsx) => { tsx.register(); return import(${entry}); });`;
  return new Worker(script, { eval: true, workerData });
}
