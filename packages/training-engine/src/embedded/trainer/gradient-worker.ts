import { EngineError } from "../../engine-error.js";
import { startThread } from "../../start-thread.js";
import { fromWireError } from "../processes/wire-error.js";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import type { FromGradientWorker, GradientWorkerData, ToGradientWorker } from "./gradient-worker-protocol.js";
import type { GradientTask } from "./gradient-task.js";

/** A thread that computes parts of tasks. */
export interface GradientWorker {
  /** Shared: what the thread's microbatches added up to, after a task. */
  readonly gradients: Float32Array;
  run(task: GradientTask, onTrained: (tokens: number) => void): Promise<MicrobatchEvaluation[]>;
  /** The shared weights are others now. */
  weightsChanged(): void;
  /** True once the thread has ended by itself; it cannot be used any more. */
  readonly ended: boolean;
  close(): Promise<void>;
}

export function startGradientWorker(memory: GradientWorkerData): GradientWorker {
  const thread = startThread(new URL("./gradient-worker-thread.ts", import.meta.url), { workerData: memory });
  let ended: EngineError | undefined;
  let stale = true;
  let running: { resolve(result: MicrobatchEvaluation[]): void; reject(error: Error): void } | undefined;
  let trained = (_tokens: number): void => undefined;
  const end = (reason: string) => {
    ended ??= new EngineError("failed", `a thread of the trainer ${reason}`);
    running?.reject(ended);
  };
  thread.on("error", (error) => end(`failed: ${error instanceof Error ? error.message : String(error)}`));
  thread.on("exit", (code) => end(`ended with code ${code}`));
  thread.on("message", (message: FromGradientWorker) => {
    if (message.type === "trained") trained(message.tokens);
    else if (message.type === "done") running?.resolve(message.evaluations);
    else running?.reject(fromWireError(message.error));
  });
  thread.unref();
  return {
    gradients: memory.gradients,
    async run(task, onTrained) {
      if (ended) throw ended;
      trained = onTrained;
      // Only while it computes does the thread keep the process.
      thread.ref();
      try {
        return await new Promise<MicrobatchEvaluation[]>((resolve, reject) => {
          running = { resolve, reject };
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
          thread.postMessage({ task, weightsChanged: stale } satisfies ToGradientWorker);
          stale = false;
        });
      } finally {
        running = undefined;
        thread.unref();
      }
    },
    weightsChanged: () => (stale = true),
    get ended() {
      return ended !== undefined;
    },
    async close() {
      await thread.terminate();
    },
  };
}
