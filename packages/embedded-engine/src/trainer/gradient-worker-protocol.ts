import type { LoraConfig } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import type { WireError } from "@heddle/concurrency";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import type { GradientTask } from "./gradient-task.js";

/** Data that a worker thread is started with. */
export interface GradientWorkerData {
  config: ModelConfig;
  adapter?: LoraConfig;
  headRows: number;
  reuseArenas: boolean;
  /** Threads that compute one operator. */
  threads: number;
  /** The frozen base weights, if an adapter is trained. The thread gets its own copy. */
  base?: Float32Array;
  /** The trained weights, in shared memory. */
  trained: Float32Array;
  /** Sums of the thread's gradients after a task, in shared memory. */
  gradients: Float32Array;
  /** Non-zero to stop the running task, in shared memory. */
  stop: Int32Array;
}

export interface ToGradientWorker {
  task: GradientTask;
  weightsChanged: boolean;
}

export type FromGradientWorker =
  | { type: "trained"; tokens: number }
  | { type: "done"; evaluations: MicrobatchEvaluation[] }
  | { type: "failed"; error: WireError };
