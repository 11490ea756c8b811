import type {
  ForwardBackwardOutput,
  LoraConfig,
  MetricSums,
  Objective,
  TokenSequence,
  Trainer,
} from "@heddle/training";
import { mutex } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import { requireTrainingMemory } from "../model/memory.js";
import type { ParameterSet } from "../model/parameters.js";
import { addSums, checkObjective, checkSequences, finishMetrics } from "@heddle/training";
import type { OptimizerState } from "../weights/optimizer-file.js";
import { adamStep, checkOptimizerSettings } from "./adam.js";
import { batchLimits, computeThreads } from "./batch-limits.js";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import { emptyGradients } from "./gradients.js";
import { openGradientWorkers } from "./gradient-workers.js";
import type { Microbatch } from "./microbatches.js";
import { planMicrobatches } from "./microbatches.js";
import { openNetwork } from "./network.js";

export interface CpuTrainerSettings {
  config: ModelConfig;
  /** Changed in place by `optimStep`, unless an adapter is trained. */
  weights: ParameterSet;
  /** If present, only its factors are trained; changed in place by `optimStep`. */
  adapter?: { config: LoraConfig; set: ParameterSet };
  /** Moments of the trained weights; changed in place by `optimStep`. Absent: zero. */
  optimizer?: OptimizerState;
  /** Memory limit of weights, moments and activations together, in bytes. */
  memoryBytes: number;
  /** Maximum number of threads that compute gradients. Default: one per core. */
  threads?: number;
}

/** The port's trainer in this process, without saving. */
export interface CpuTrainer extends Omit<Trainer, "saveState" | "exportWeights" | "adapter"> {
  readonly config: ModelConfig;
  readonly weights: ParameterSet;
  readonly adapter?: { config: LoraConfig; set: ParameterSet };
  readonly optimizer: OptimizerState;
  /** Replaces the trained weights and the moments, which are zero if absent. */
  replaceState(trained: Float32Array, optimizer?: OptimizerState): Promise<void>;
  discardGradient(): Promise<void>;
}

/**
 * Creates a trainer in this process. Calls run one at a time. A `forwardBackward` that is rejected as invalid changes
 * nothing; one that fails or is aborted while computing discards the accumulated gradient, also that of earlier calls.
 * While the trainer is open, only `optimStep` may change the weights. Deterministic: the same weights, sequences,
 * settings and number of threads give the same bits on the same machine.
 */
export async function createCpuTrainer(settings: CpuTrainerSettings): Promise<CpuTrainer> {
  const { config, weights, adapter, memoryBytes } = settings;
  requireTrainingMemory(config, adapter?.config, memoryBytes);
  const trained = adapter?.set ?? weights;
  const optimizer = settings.optimizer ?? newOptimizer(trained);
  checkOptimizer(optimizer, trained);
  const { workers: maxWorkers, threadsPerWorker } = computeThreads(config, adapter?.config, settings);
  const limits = batchLimits(config, adapter?.config, { memoryBytes, workers: maxWorkers });
  const { headRows, reuseArenas } = limits;
  const gradients = emptyGradients(trained.parameters);
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const stopped = () => Atomics.load(stop, 0) !== 0;
  const network = await openNetwork({
    config,
    weights,
    adapter,
    headRows,
    reuseArenas,
    threads: threadsPerWorker,
    stopped,
  });
  const workers = openGradientWorkers({
    config,
    adapter: adapter?.config,
    headRows,
    reuseArenas,
    threads: threadsPerWorker,
    base: adapter && weights.flat,
    weights: trained.flat,
    stop,
    network,
    gradients,
  });
  const plan = (sequences: readonly TokenSequence[]) => planMicrobatches(config, sequences, limits);
  const runExclusive = mutex();

  const logprobs: Trainer["logprobs"] = (sequences, signal) =>
    runExclusive(async () => {
      checkSequences(sequences, config);
      const microbatches = plan(sequences);
      const evaluations = await workers.run({ kind: "score", sequences, microbatches }, { signal });
      const results = nanPerToken(sequences);
      microbatches.forEach(({ indices }, i) =>
        indices.forEach((index, row) => (results[index] = evaluations[i]!.logprobs[row]!)),
      );
      return results;
    });

  const forwardBackward: Trainer["forwardBackward"] = (objective, { entropy = false, signal, onProgress } = {}) =>
    runExclusive(async () => {
      checkObjective(objective, config);
      const microbatches = plan(objective.sequences);
      let tokens = 0;
      const onTrained = (more: number) => onProgress?.((tokens += more));
      try {
        const task = { kind: "forwardBackward", objective, microbatches, entropy } as const;
        const evaluations = await workers.run(task, { signal, onTrained });
        return combineEvaluations(objective, microbatches, evaluations, { entropy });
      } catch (error) {
        gradients.clear();
        throw error;
      }
    });

  const optimStep: Trainer["optimStep"] = (settings) =>
    runExclusive(async () => {
      checkOptimizerSettings(settings);
      try {
        const gradientNorm = adamStep(trained, gradients.sums(), optimizer, settings);
        workers.weightsChanged();
        return { gradientNorm, steps: optimizer.steps };
      } finally {
        gradients.clear();
      }
    });

  const replaceState: CpuTrainer["replaceState"] = (values, moments) =>
    runExclusive(async () => {
      if (moments) checkOptimizer(moments, trained);
      trained.flat.set(values);
      optimizer.steps = moments?.steps ?? 0;
      for (const moment of ["first", "second"] as const) {
        if (moments) optimizer[moment].set(moments[moment]);
        else optimizer[moment].fill(0);
      }
      workers.weightsChanged();
    });

  const discardGradient = () => runExclusive(async () => gradients.clear());

  const close = () => runExclusive(() => workers.close());
  return {
    config,
    weights,
    adapter,
    optimizer,
    logprobs,
    forwardBackward,
    optimStep,
    replaceState,
    discardGradient,
    close,
  };
}

/**
 * Combines the evaluations of microbatches. Sums are added in the order of the sequences, independent of the batching.
 */
function combineEvaluations(
  { sequences, normalizer }: Objective,
  microbatches: Microbatch[],
  evaluations: MicrobatchEvaluation[],
  { entropy }: { entropy: boolean },
): ForwardBackwardOutput {
  const logprobs = nanPerToken(sequences);
  const entropies = nanPerToken(sequences);
  const losses = sequences.map(() => 0);
  const sums = sequences.map((): MetricSums => ({}));
  microbatches.forEach(({ indices }, i) => {
    const evaluation = evaluations[i]!;
    indices.forEach((index, row) => {
      losses[index] = evaluation.losses[row]!;
      sums[index] = evaluation.sums[row]!;
      logprobs[index] = evaluation.logprobs[row]!;
      if (evaluation.entropies) entropies[index] = evaluation.entropies[row]!;
    });
  });
  const loss = losses.reduce((sum, each) => sum + each, 0);
  const total: MetricSums = {};
  for (const each of sums) addSums(total, each);
  return {
    loss: microbatches.length === 0 ? 0 : loss / normalizer,
    logprobs,
    metrics: finishMetrics(total),
    ...(entropy && { entropies }),
  };
}

function nanPerToken(sequences: readonly TokenSequence[]): Float64Array[] {
  return sequences.map(({ tokens }) => new Float64Array(tokens.length).fill(NaN));
}

function newOptimizer({ flat }: ParameterSet): OptimizerState {
  return { steps: 0, first: new Float32Array(flat.length), second: new Float32Array(flat.length) };
}

function checkOptimizer({ first, second }: OptimizerState, { flat }: ParameterSet): void {
  for (const moment of [first, second]) {
    if (moment.length === flat.length) continue;
    const message = `the optimizer state has ${moment.length} entries for ${flat.length} trained values`;
    throw new HeddleError("invalid", message, { loc: ["optimizer"] });
  }
}
