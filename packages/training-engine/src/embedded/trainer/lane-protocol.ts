import type { ModelConfig } from "../../model/config.js";
import type { AdapterConfig } from "../../model/parameters.js";
import type { WireError } from "../processes/wire-error.js";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import type { LaneTask } from "./lane-task.js";

/** What a thread is started with. */
export interface LaneMemory {
  config: ModelConfig;
  adapter?: AdapterConfig;
  headRows: number;
  roomy: boolean;
  /** With an adapter, the frozen weights: the thread gets a copy of its own. */
  base?: Float32Array;
  /** Shared: the numbers that are trained. */
  trained: Float32Array;
  /** Shared: the sums of the thread's gradients after a task. */
  gradients: Float32Array;
  /** Shared: not 0 when the running task is to end. */
  stop: Int32Array;
}

export interface ToLane {
  task: LaneTask;
  weightsChanged: boolean;
}

export type FromLane =
  | { type: "trained"; tokens: number }
  | { type: "done"; evaluations: MicrobatchEvaluation[] }
  | { type: "failed"; error: WireError };
