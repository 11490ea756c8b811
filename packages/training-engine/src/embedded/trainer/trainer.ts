import { EngineError } from "../../engine-error.js";
import type { ModelConfig } from "../../model/config.js";
import { requireTrainingMemory } from "../../model/memory.js";
import type { AdapterConfig, ParameterSet } from "../../model/parameters.js";
import { addSums, finishMetrics, type MetricSums } from "../../objective/metric-sums.js";
import type { Evaluation, Objective, TokenSequence, Trainer } from "../../port.js";
import type { OptimizerState } from "../../weights/optimizer-file.js";
import { adamStep, checkOptimizerSettings } from "./adam.js";
import { batchLimits, laneCount } from "./batch-limits.js";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import { emptyGradients } from "./gradients.js";
import { openLanes } from "./lanes.js";
import { planMicrobatches, type Microbatch } from "./microbatches.js";
import { openNetwork } from "./network.js";
import { checkObjective, checkSequences } from "./sequence-checks.js";

export interface CpuTrainerSettings {
  config: ModelConfig;
  /** Changed in place by `apply`, unless an adapter is trained. */
  weights: ParameterSet;
  /** Only its factors are trained; changed in place by `apply`. */
  adapter?: { config: AdapterConfig; set: ParameterSet };
  /** Moments to go on with, of what is trained; changed in place by `apply`. Absent: none yet. */
  optimizer?: OptimizerState;
  /** What weights, moments and activations together may take. */
  memoryBytes: number;
  /** Threads that compute gradients at the same time; default: as many as pay, and as cores and memory allow. */
  workers?: number;
}

/** A port's trainer in this process; saving is left to who has the directories. */
export interface CpuTrainer extends Omit<Trainer, "save"> {
  readonly config: ModelConfig;
  readonly weights: ParameterSet;
  readonly adapter?: { config: AdapterConfig; set: ParameterSet };
  readonly optimizer: OptimizerState;
}

/**
 * Calls take turns. An `accumulate` that is refused changes nothing; one that fails or is aborted while it computes discards
 * the gradient so far, also that of earlier calls. While the trainer is open, only `apply` may change the weights.
 * Deterministic: the same weights, sequences, settings and number of workers give the same bits on the same machine.
 */
export async function createCpuTrainer(settings: CpuTrainerSettings): Promise<CpuTrainer> {
  const { config, weights, adapter, memoryBytes } = settings;
  requireTrainingMemory(config, adapter?.config, memoryBytes);
  const trained = adapter?.set ?? weights;
  const optimizer = settings.optimizer ?? freshOptimizer(trained);
  checkOptimizer(optimizer, trained);
  const lanesAtMost = laneCount(config, adapter?.config, memoryBytes, settings.workers);
  const limits = batchLimits(config, adapter?.config, { memoryBytes, lanes: lanesAtMost });
  const { headRows, roomy } = limits;
  const gradients = emptyGradients(trained.parameters);
  const network = await openNetwork({ config, weights, adapter, headRows, roomy });
  const lanes = openLanes({
    config,
    adapter: adapter?.config,
    headRows,
    roomy,
    base: adapter && weights.flat,
    weights: trained.flat,
    network,
    gradients,
  });
  const plan = (sequences: readonly TokenSequence[]) => planMicrobatches(sequences, limits);
  const inTurn = turns();

  const logprobs: Trainer["logprobs"] = (sequences, signal) =>
    inTurn(async () => {
      checkSequences(sequences, config);
      const microbatches = plan(sequences);
      const evaluations = await lanes.run({ kind: "score", sequences, microbatches }, { signal });
      const results = untrained(sequences);
      microbatches.forEach(({ indices }, i) =>
        indices.forEach((index, row) => (results[index] = evaluations[i]!.logprobs[row]!)),
      );
      return results;
    });

  const accumulate: Trainer["accumulate"] = (objective, { entropy = false, signal, onProgress } = {}) =>
    inTurn(async () => {
      checkObjective(objective, config);
      const microbatches = plan(objective.sequences);
      let tokens = 0;
      const onTrained = (more: number) => onProgress?.((tokens += more));
      try {
        const task = { kind: "accumulate", objective, microbatches, entropy } as const;
        const evaluations = await lanes.run(task, { signal, onTrained });
        return collected(objective, microbatches, evaluations, { entropy });
      } catch (error) {
        gradients.clear();
        throw error;
      }
    });

  const apply: Trainer["apply"] = (settings) =>
    inTurn(async () => {
      checkOptimizerSettings(settings);
      try {
        const gradientNorm = adamStep(trained, gradients.sums(), optimizer, settings);
        lanes.weightsChanged();
        return { gradientNorm, steps: optimizer.steps };
      } finally {
        gradients.clear();
      }
    });

  const close = () => inTurn(() => lanes.close());
  return { config, weights, adapter, optimizer, logprobs, accumulate, apply, close };
}

/** One evaluation out of those of microbatches; sums are made in the order of the sequences, whatever the batches were. */
function collected(
  { sequences, divisor }: Objective,
  microbatches: Microbatch[],
  evaluations: MicrobatchEvaluation[],
  { entropy }: { entropy: boolean },
): Evaluation {
  const logprobs = untrained(sequences);
  const entropies = untrained(sequences);
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
    loss: microbatches.length === 0 ? 0 : loss / divisor,
    logprobs,
    metrics: finishMetrics(total),
    ...(entropy && { entropies }),
  };
}

function untrained(sequences: readonly TokenSequence[]): Float64Array[] {
  return sequences.map(({ tokens }) => new Float64Array(tokens.length).fill(NaN));
}

function freshOptimizer({ flat }: ParameterSet): OptimizerState {
  return { steps: 0, first: new Float32Array(flat.length), second: new Float32Array(flat.length) };
}

function checkOptimizer({ first, second }: OptimizerState, { flat }: ParameterSet): void {
  for (const moment of [first, second]) {
    if (moment.length === flat.length) continue;
    const message = `the optimizer state has ${moment.length} entries for ${flat.length} trained numbers`;
    throw new EngineError("invalid", message, "optimizer");
  }
}

/** Runs each piece of work after the one before, whatever became of that. */
function turns(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result.catch(() => undefined);
    return result;
  };
}
