import type {
  ForwardBackwardOutput,
  Objective,
  OptimizerSettings,
  TokenSequence,
  TrainerSpec,
  WeightsRef,
} from "@heddle/training";
import type { BaseModelSettings } from "../weights/base-models.js";

export interface TrainerOpening {
  models: BaseModelSettings;
  spec: TrainerSpec;
  memoryBytes: number;
  /** Maximum number of threads that compute at the same time. */
  threads: number;
}

/** Methods of a training process; see `Trainer` in port.ts. Calls run one at a time. */
export interface TrainerMethods {
  /** Called first, and once. */
  open: { params: TrainerOpening; result: void; event: never };
  /**
   * Opens another trainer in place of a released one. Returns false, and changes nothing, if that takes a new process.
   */
  reopen: { params: TrainerOpening; result: boolean; event: never };
  /** Discards the gradient when a trainer is closed and its process is kept. */
  release: { params: null; result: void; event: never };
  logprobs: { params: TokenSequence[]; result: Float64Array[]; event: never };
  /** Events are the number of trained tokens so far. */
  forwardBackward: {
    params: { objective: Objective; entropy?: boolean };
    result: ForwardBackwardOutput;
    event: number;
  };
  optimStep: { params: OptimizerSettings; result: { gradientNorm: number; steps: number }; event: never };
  save: {
    params: { directory: string; optimizer?: boolean; dtype?: "F32" | "BF16" };
    result: WeightsRef;
    event: never;
  };
}
