import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import type { Gradients } from "./gradients.js";
import type { GradientWorkerData } from "./gradient-worker-protocol.js";
import type { GradientTask } from "./gradient-task.js";
import { taskForWorker, runGradientTask } from "./gradient-task.js";
import type { Network } from "./network.js";
import type { GradientWorker } from "./gradient-worker.js";
import { startGradientWorker } from "./gradient-worker.js";

export interface GradientWorkers {
  /**
   * Returns the evaluations in the order of the task's microbatches. Gradients are added in the order of the workers.
   */
  run(
    task: GradientTask,
    options: { signal?: AbortSignal; onTrained?: (tokens: number) => void },
  ): Promise<MicrobatchEvaluation[]>;
  weightsChanged(): void;
  close(): Promise<void>;
}

export interface GradientWorkersSettings extends Omit<GradientWorkerData, "trained" | "gradients"> {
  /** The current trained weights. */
  weights: Float32Array;
  network: Network;
  gradients: Gradients;
}

/** Computes microbatches in this thread and in worker threads, which are started on demand. */
export function openGradientWorkers({
  weights,
  network,
  gradients,
  stop,
  ...rest
}: GradientWorkersSettings): GradientWorkers {
  // Allocated with the second worker; all worker threads share one copy.
  let trained: Float32Array | undefined;
  let stale = true;
  const started: GradientWorker[] = [];

  const startWorkers = (count: number): GradientWorker[] => {
    trained ??= sharedArray(weights.length);
    if (stale) trained.set(weights);
    stale = false;
    for (let i = 0; i < count; i++) {
      if (started[i] && !started[i]?.ended) continue;
      started[i] = startGradientWorker({ ...rest, trained, gradients: sharedArray(weights.length), stop });
    }
    return started.slice(0, count);
  };

  const run: GradientWorkers["run"] = async (task, { signal, onTrained = () => undefined }) => {
    const workerCount = task.microbatches.reduce((count, { worker }) => Math.max(count, worker + 1), 1);
    Atomics.store(stop, 0, signal?.aborted ? 1 : 0);
    const end = () => void Atomics.store(stop, 0, 1);
    signal?.addEventListener("abort", end);
    let thrown: { error: unknown } | undefined;
    const notify = (tokens: number) => {
      try {
        onTrained(tokens);
      } catch (error) {
        thrown ??= { error };
        end();
      }
    };
    const control = { stopped: () => Atomics.load(stop, 0) !== 0, onTrained: notify };
    const threads = workerCount > 1 ? startWorkers(workerCount - 1) : [];
    const parts = [
      runGradientTask(taskForWorker(task, 0), network, gradients, control),
      ...threads.map((worker, i) => worker.run(taskForWorker(task, i + 1), notify)),
    ];
    // A failing worker stops the others, and all have settled before this function continues.
    for (const part of parts) part.catch(end);
    const settled = await Promise.allSettled(parts);
    signal?.removeEventListener("abort", end);
    if (thrown) throw thrown.error;
    const errors = settled.flatMap((part): unknown[] => (part.status === "rejected" ? [part.reason] : []));
    if (errors.length > 0) throw errors.find((error) => !isAbort(error)) ?? errors[0];
    if (task.kind === "forwardBackward") for (const worker of threads) gradients.addFlat(worker.gradients);
    const results = settled.map((part) => (part.status === "fulfilled" ? part.value.values() : [].values()));
    return task.microbatches.map(({ worker }) => results[worker]!.next().value!);
  };

  return {
    run,
    weightsChanged() {
      stale = true;
      for (const worker of started) worker.weightsChanged();
    },
    async close() {
      await Promise.all(started.map((worker) => worker.close()));
      await network.close();
    },
  };
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "aborted";
}

function sharedArray(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(4 * length));
}
