import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import type { MetricSums } from "../src/objective/metric-sums.js";
import { addSums, finishMetrics } from "../src/objective/metric-sums.js";
import { sequenceLoss } from "../src/objective/objective-loss.js";
import type {
  TrainingEngine,
  ForwardBackwardOutput,
  OptimizerSettings,
  TokenSequence,
  Trainer,
  TrainerSpec,
} from "../src/port.js";

/** A checkpoint of the table model: logits [previous token][next token], and Adam's moments. */
interface Table {
  steps: number;
  logits: number[];
  first: number[];
  second: number[];
}

export interface TableEngine extends TrainingEngine {
  /** What trainers were opened with, in order. */
  opened: TrainerSpec[];
  /** Checkpoints that `deleteWeights` was called with, in order. */
  deleted: string[];
  /** Called before every optimizer step, with the number of steps that this engine has done. */
  beforeApply?: (steps: number) => void;
  applied: OptimizerSettings[];
}

/**
 * An engine whose model is a table of bigram logits, with the gradients, Adam and checkpoints of the port, in
 * microseconds. `directory` has the tokenizer and the chat template.
 */
export function tableEngine({ vocabulary = 272, contextLength = 64, directory = "" } = {}): TableEngine {
  let open = 0;
  const engine: TableEngine = {
    opened: [],
    deleted: [],
    applied: [],
    capabilities: async () => ({
      models: [
        {
          name: "random:table",
          parameters: vocabulary ** 2,
          vocabularySize: vocabulary,
          contextLength,
          directory,
          training: {
            objectives: ["cross_entropy", "policy"],
            fullFineTuning: true,
            gradientClipping: true,
            entropies: true,
            maxSequenceTokens: contextLength,
          },
        },
      ],
      unavailableModels: [],
    }),
    health: async () => ({ ok: true }),
    weightsDigest: async ({ checkpoint }) => (checkpoint === undefined ? "untrained" : digestOf(checkpoint)),
    adapterOf: async () => undefined,
    openTrainer: async (spec) => {
      if (open > 0) throw new HeddleError("busy", "Another trainer is open.");
      open++;
      engine.opened.push(spec);
      return trainerOf(spec);
    },
    deleteWeights: async ({ checkpoint }) => {
      if (checkpoint !== undefined) engine.deleted.push(checkpoint);
    },
    sampler: { unsupportedFields: () => ["weights"], generate: noSampler, preload: noSampler, unload: noSampler },
    close: async () => undefined,
  };
  return engine;

  async function trainerOf(spec: TrainerSpec): Promise<Trainer> {
    const from = spec.weights.checkpoint;
    const table: Table = from
      ? (JSON.parse(await readFile(join(from, "table.json"), "utf8")) as Table)
      : { steps: 0, logits: Array.from({ length: vocabulary ** 2 }, () => 0), first: [], second: [] };
    if (spec.resetOptimizer || table.first.length === 0) {
      table.first = table.logits.map(() => 0);
      table.second = table.logits.map(() => 0);
      table.steps = 0;
    }
    const gradient = table.logits.map(() => 0);

    return { logprobs, forwardBackward, optimStep, saveState: save, exportWeights: save, close };

    function distribution(previous: number): number[] {
      const row = table.logits.slice(previous * vocabulary, (previous + 1) * vocabulary);
      const total = Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0));
      return row.map((logit) => logit - total);
    }

    function score({ tokens, mask }: TokenSequence, value: (of: number[], token: number) => number): Float64Array {
      return Float64Array.from(tokens, (token, t) => (mask[t] && t ? value(distribution(tokens[t - 1]!), token) : NaN));
    }

    async function logprobs(sequences: TokenSequence[]): Promise<Float64Array[]> {
      return sequences.map((sequence) => score(sequence, (of, token) => of[token]!));
    }

    async function forwardBackward(
      ...[objective, options]: Parameters<Trainer["forwardBackward"]>
    ): Promise<ForwardBackwardOutput> {
      options?.signal?.throwIfAborted();
      const sums: MetricSums = {};
      const scored = await logprobs(objective.sequences);
      let loss = 0;
      for (const [at, sequence] of objective.sequences.entries()) {
        const result = sequenceLoss(objective, at, scored[at]!);
        loss += result.loss / objective.normalizer;
        addSums(sums, result.sums);
        for (const [t, slope] of result.gradient.entries()) {
          if (slope === 0) continue;
          const previous = sequence.tokens[t - 1]!;
          for (const [token, logprob] of distribution(previous).entries()) {
            const own = token === sequence.tokens[t] ? 1 : 0;
            gradient[previous * vocabulary + token]! += (slope / objective.normalizer) * (own - Math.exp(logprob));
          }
        }
      }
      const entropy = (of: number[]): number => -of.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0);
      const entropies = options?.entropy ? objective.sequences.map((sequence) => score(sequence, entropy)) : undefined;
      return { loss, logprobs: scored, entropies, metrics: finishMetrics(sums) };
    }

    async function optimStep(settings: OptimizerSettings): Promise<{ gradientNorm: number; steps: number }> {
      engine.beforeApply?.(engine.applied.length);
      engine.applied.push(settings);
      const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm } = settings;
      const gradientNorm = Math.sqrt(gradient.reduce((sum, each) => sum + each * each, 0));
      const clip = maxGradientNorm > 0 ? Math.min(1, maxGradientNorm / gradientNorm) : 1;
      table.steps++;
      for (const [at, slope] of gradient.entries()) {
        table.first[at] = beta1 * table.first[at]! + (1 - beta1) * slope * clip;
        table.second[at] = beta2 * table.second[at]! + (1 - beta2) * (slope * clip) ** 2;
        const first = table.first[at] / (1 - beta1 ** table.steps);
        const second = table.second[at] / (1 - beta2 ** table.steps);
        table.logits[at]! -= learningRate * (first / (Math.sqrt(second) + epsilon) + weightDecay * table.logits[at]!);
      }
      gradient.fill(0);
      return { gradientNorm, steps: table.steps };
    }

    async function save(into: string): ReturnType<Trainer["saveState"]> {
      if (existsSync(into)) throw new HeddleError("invalid", `${into} exists.`);
      await mkdir(`${into}.part`);
      await writeFile(join(`${into}.part`, "table.json"), JSON.stringify(table));
      await rename(`${into}.part`, into);
      return { baseModel: spec.weights.baseModel, checkpoint: into, digest: await digestOf(into) };
    }

    async function close(): Promise<void> {
      open--;
    }
  }
}

async function digestOf(checkpoint: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(join(checkpoint, "table.json")))
    .digest("hex");
}

async function noSampler(): Promise<never> {
  throw new HeddleError("unsupported", "A table does not sample.");
}
