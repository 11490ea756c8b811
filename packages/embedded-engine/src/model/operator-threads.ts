import type { ModelConfig } from "./config.js";
import { modelParameters, parameterCount } from "./parameters.js";

/** Minimum number of weights at which several threads that divide an operator are faster; see `bench/threads.ts`. */
const minParameters = 5e7;

/** Returns how many of the available threads should compute one operator of a model together. */
export function operatorThreads(config: ModelConfig, available: number): number {
  return parameterCount(modelParameters(config)) < minParameters ? 1 : Math.max(1, Math.floor(available));
}
