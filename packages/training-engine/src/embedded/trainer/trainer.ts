import { EngineError } from "../../engine-error.js";
import type { ModelConfig } from "../../model/config.js";
import type { AdapterConfig, ParameterSet } from "../../model/parameters.js";
import { addSums, finishMetrics, type MetricSums } from "../../objective/metric-sums.js";
import type { Evaluation, TokenSequence, Trainer } from "../../port.js";
import type { OptimizerState } from "../../weights/optimizer-file.js";
import { adamStep } from "./adam.js";
import { evaluateMicrobatch, scoreMicrobatch } from "./evaluate-microbatch.js";
import { planMicrobatches } from "./microbatches.js";
import { emptyGradients } from "./gradients.js";
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
}

/** A port's trainer in this process; saving is left to who has the directories. */
export interface CpuTrainer extends Omit<Trainer, "save"> {
  readonly config: ModelConfig;
  readonly weights: ParameterSet;
  readonly adapter?: { config: AdapterConfig; set: ParameterSet };
  readonly optimizer: OptimizerState;
}

/**
 * Calls take turns. An `accumulate` that fails or is aborted discards the gradient so far, also that of earlier calls.
 * Deterministic: the same weights, sequences and settings give the same bits on the same machine.
 */
export async function createCpuTrainer(settings: CpuTrainerSettings): Promise<CpuTrainer> {
  const { config, weights, adapter } = settings;
  const trained = adapter?.set ?? weights;
  const gradients = emptyGradients(trained.parameters);
  const optimizer = settings.optimizer ?? {
    steps: 0,
    first: new Float32Array(trained.flat.length),
    second: new Float32Array(trained.flat.length),
  };
  for (const moment of [optimizer.first, optimizer.second]) {
    if (moment.length !== trained.flat.length) {
      throw new EngineError(
        "invalid",
        `the optimizer state has ${moment.length} entries for ${trained.flat.length} trained numbers`,
        "optimizer",
      );
    }
  }
  const network = await openNetwork({ config, weights, adapter, headRows: 4096 });
  const inTurn = turns();
  const plan = (sequences: readonly TokenSequence[]) =>
    planMicrobatches(sequences, (rows, time) => rows * time <= 2048);

  const logprobs: Trainer["logprobs"] = (sequences, signal) =>
    inTurn(async () => {
      checkSequences(sequences, config);
      const results = untrained(sequences);
      for (const microbatch of plan(sequences)) {
        throwIfAborted(signal);
        const values = await scoreMicrobatch(network, sequences, microbatch);
        microbatch.indices.forEach((index, row) => (results[index] = values[row]!));
      }
      return results;
    });

  const accumulate: Trainer["accumulate"] = (objective, { entropy = false, signal, onProgress } = {}) =>
    inTurn(async () => {
      checkObjective(objective, config);
      const { sequences, divisor } = objective;
      const logprobs = untrained(sequences);
      const entropies = untrained(sequences);
      const losses = sequences.map(() => 0);
      const sums = sequences.map((): MetricSums => ({}));
      let trainedTokens = 0;
      try {
        for (const microbatch of plan(sequences)) {
          throwIfAborted(signal);
          const evaluation = await evaluateMicrobatch(network, objective, microbatch, gradients, {
            entropy,
            mode: "keep",
          });
          microbatch.indices.forEach((index, row) => {
            losses[index] = evaluation.losses[row]!;
            sums[index] = evaluation.sums[row]!;
            logprobs[index] = evaluation.logprobs[row]!;
            if (evaluation.entropies) entropies[index] = evaluation.entropies[row]!;
            trainedTokens += evaluation.sums[row]!["trained_tokens"] ?? 0;
          });
          onProgress?.(trainedTokens);
        }
      } catch (error) {
        gradients.clear();
        throw error;
      }
      // In the order of the sequences, whatever the batches were.
      const loss = losses.reduce((sum, each) => sum + each, 0);
      const total: MetricSums = {};
      for (const each of sums) addSums(total, each);
      const evaluation: Evaluation = {
        loss: trainedTokens === 0 ? 0 : loss / divisor,
        logprobs,
        metrics: finishMetrics(total),
      };
      return entropy ? { ...evaluation, entropies } : evaluation;
    });

  const apply: Trainer["apply"] = (settings) =>
    inTurn(async () => {
      try {
        const gradientNorm = adamStep(trained, gradients.sums(), optimizer, settings);
        return { gradientNorm, steps: optimizer.steps };
      } finally {
        gradients.clear();
      }
    });

  const close = () => inTurn(() => network.close());
  return { config, weights, adapter, optimizer, logprobs, accumulate, apply, close };
}

function untrained(sequences: readonly TokenSequence[]): Float64Array[] {
  return sequences.map(({ tokens }) => new Float64Array(tokens.length).fill(NaN));
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError("aborted", "the caller asked for the end");
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
