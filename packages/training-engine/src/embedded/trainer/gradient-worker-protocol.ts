import type { ModelConfig } from "../../model/config.js";
import type { LoraConfig } from "../../model/parameters.js";
import type { WireError } from "../processes/wire-error.js";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import type { GradientTask } from "./gradient-task.js";

/** What a thread is started with. */
export interface GradientWorkerData {
  config: ModelConfig;
  adapter?: LoraConfig;
  headRows: number;
  reuseArenas: boolean;
  /** With an adapter, the frozen weights: the thread gets a copy of its own. */
  base?: Float32Array;
  /** Shared: the numbers that are trained. */
  trained: Float32Array;
  /** Shared: the sums of the thread's gradients after a task. */
  gradients: Float32Array;
  /** Shared: not 0 when the running task is to end. */
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
