import { HeddleError } from "@heddle/errors";
import { fromWireError, startThread } from "@heddle/concurrency";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import type { FromGradientWorker, GradientWorkerData, ToGradientWorker } from "./gradient-worker-protocol.js";
import type { GradientTask } from "./gradient-task.js";

/** A worker thread that computes the microbatches assigned to it. */
export interface GradientWorker {
  /** Sum of the thread's gradients after a task, in shared memory. */
  readonly gradients: Float32Array;
  run(task: GradientTask, onTrained: (tokens: number) => void): Promise<MicrobatchEvaluation[]>;
  /** Marks the shared weights as changed. */
  weightsChanged(): void;
  /** Whether the thread has exited unexpectedly; it is unusable then. */
  readonly ended: boolean;
  close(): Promise<void>;
}

export function startGradientWorker(memory: GradientWorkerData): GradientWorker {
  const thread = startThread(new URL("./gradient-worker-thread.ts", import.meta.url), { workerData: memory });
  let ended: HeddleError | undefined;
  let stale = true;
  let running: { resolve(result: MicrobatchEvaluation[]): void; reject(error: Error): void } | undefined;
  let trained = (_tokens: number): void => undefined;
  const end = (reason: string) => {
    ended ??= new HeddleError("failed", `a trainer thread ${reason}`);
    running?.reject(ended);
  };
  thread.on("error", (error) => end(`failed: ${error instanceof Error ? error.message : String(error)}`));
  thread.on("exit", (code) => end(`exited with code ${code}`));
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
      // The thread keeps the process alive only while it computes.
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
