import { randomBytes } from "node:crypto";
import { mutex } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { checkObjective, checkpointDigest, checkSequences, finishMetrics, objectiveLoss } from "@heddle/training";
import type {
  ForwardBackwardOutput,
  LoraConfig,
  Objective,
  OptimizerSettings,
  TokenSequence,
  Trainer,
  WeightsRef,
} from "@heddle/training";
import type { HttpClient } from "../http-client.js";
import { isJsonObject } from "@heddle/exact-json";
import type { TinkerApi } from "./api.js";
import { writeCheckpointDirectory } from "../checkpoint-directory.js";
import { splitData } from "./chunks.js";
import { datumOf, readLogprobs } from "./datum.js";
import { downloadAdapter } from "./download-adapter.js";
import type { GradientScale } from "../remote-model.js";
import type { WireLoss } from "./loss-mapping.js";
import { linearLoss, lossCoefficients, serverLoss } from "./loss-mapping.js";
import type { TinkerSession } from "./session.js";
import { unknownOutcome } from "./unknown-outcome.js";

export interface TinkerTrainerSettings {
  api: TinkerApi;
  http: HttpClient;
  /** Identity of the server, recorded in saved states. */
  server: string;
  session: TinkerSession;
  /** The model of the server that this trainer changes. */
  modelId: string;
  baseModel: string;
  baseDigest: string;
  adapter: LoraConfig;
  seed: number;
  /** Optimizer steps before this trainer was opened. */
  steps: number;
  /** Sequence number of the last accepted request. */
  sequenceNumber: number;
  gradientScale: GradientScale;
  vocabularySize: number;
  maxSequenceTokens: number;
  onClose: () => void;
}

interface OperationOptions {
  signal?: AbortSignal;
  /** Whether the operation changes weights or gradients, so that the trainer is unusable after an unknown outcome. */
  changes: boolean;
}

const unloadTimeoutMs = 30_000;

/** A trainer on a server with the Tinker wire. Calls run one at a time, in order: the server numbers them. */
export class TinkerTrainer implements Trainer {
  readonly adapter: LoraConfig;
  readonly #settings: TinkerTrainerSettings;
  readonly #queue = mutex();
  #sequenceNumber: number;
  #steps: number;
  /** Whether there is an accumulated gradient. */
  #hasGradient = false;
  /** After an unknown outcome: what every later call rejects with. */
  #unusable: HeddleError | undefined;
  #closed = false;

  constructor(settings: TinkerTrainerSettings) {
    this.adapter = settings.adapter;
    this.#settings = settings;
    this.#sequenceNumber = settings.sequenceNumber;
    this.#steps = settings.steps;
  }

  logprobs(sequences: TokenSequence[], signal?: AbortSignal): Promise<Float64Array[]> {
    return this.#runExclusive(() => {
      checkSequences(sequences, this.#limits());
      return this.#logprobs(sequences, signal);
    });
  }

  forwardBackward(
    objective: Objective,
    { signal, onProgress }: Parameters<Trainer["forwardBackward"]>[1] = {},
  ): Promise<ForwardBackwardOutput> {
    return this.#runExclusive(async () => {
      checkObjective(objective, this.#limits());
      const trained = trainedPart(objective);
      if (trained.objective.sequences.length === 0) return { loss: 0, logprobs: emptyLogprobs(objective), metrics: {} };
      const { gradientScale } = this.#settings;
      if (gradientScale === "sequence_mean" && this.#hasGradient) {
        throw new HeddleError(
          "unsupported",
          "this training server averages over sequences: pass all sequences of an optimizer step in one call",
          { loc: ["objective"] },
        );
      }
      let loss = serverLoss(trained.objective, gradientScale);
      if (!loss) {
        const logprobs = await this.#logprobs(trained.objective.sequences, signal);
        const coefficients = lossCoefficients(trained.objective, logprobs);
        loss = linearLoss(trained.objective.sequences, coefficients, gradientScale);
      }
      const logprobs = await this.#forwardBackward(loss, trained.objective.sequences, signal);
      this.#hasGradient = true;
      const output = objectiveLoss(trained.objective, logprobs);
      onProgress?.(output.sums["trainedTokens"] ?? 0);
      const all = emptyLogprobs(objective);
      trained.indices.forEach((index, at) => (all[index] = logprobs[at]!));
      return { loss: output.loss, logprobs: all, metrics: finishMetrics(output.sums) };
    });
  }

  optimStep(settings: OptimizerSettings): Promise<{ gradientNorm: number; steps: number }> {
    return this.#runExclusive(async () => {
      const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm } = settings;
      const adam = { learning_rate: learningRate, beta1, beta2, eps: epsilon, weight_decay: weightDecay };
      const body = { adam_params: { ...adam, grad_clip_norm: maxGradientNorm }, type: "optim_step" };
      const { metrics } = await this.#operate("optim_step", body, { changes: true });
      this.#hasGradient = false;
      const gradientNorm = gradientNormOf(metrics);
      if (gradientNorm !== undefined && !Number.isFinite(gradientNorm)) {
        throw this.#markUnusable(unknownOutcome("the gradient norm is not finite, and the server has done the step"));
      }
      this.#steps++;
      return { gradientNorm: gradientNorm ?? NaN, steps: this.#steps };
    });
  }

  saveState(directory: string): Promise<WeightsRef> {
    return this.#runExclusive(() => this.#write(directory, { state: true, weights: false }));
  }

  exportWeights(directory: string, { state = false }: { state?: boolean } = {}): Promise<WeightsRef> {
    return this.#runExclusive(() => this.#write(directory, { state, weights: true }));
  }

  async close(): Promise<void> {
    const { api, session, modelId, onClose } = this.#settings;
    if (this.#closed) return;
    this.#closed = true;
    await this.#queue(async () => {});
    const signal = AbortSignal.timeout(unloadTimeoutMs);
    try {
      const { request_id: id } = await api.post("unload_model", { model_id: modelId }, { repeatable: true, signal });
      await api.result(id, signal);
    } finally {
      // Without heartbeats, the server unloads a model that could not be unloaded now.
      session.close();
      onClose();
    }
  }

  async #write(directory: string, contents: { state: boolean; weights: boolean }): Promise<WeightsRef> {
    const { baseModel, baseDigest, adapter, seed, server } = this.#settings;
    const path = contents.state ? await this.#save("save_weights") : undefined;
    const archive = contents.weights ? archivePath(await this.#save("save_weights_for_sampler")) : undefined;
    const remote = path === undefined ? undefined : { server, path, rank: adapter.rank };
    const description = { baseModel, baseDigest, steps: this.#steps, seed, remote };
    const files = await writeCheckpointDirectory(directory, description, async (partial) =>
      archive ? downloadAdapter(this.#settings.http, archive.download, { directory: partial, baseModel }) : [],
    );
    // The archive was only a way to the directory. Servers that cannot delete it keep it.
    if (archive) await this.#settings.api.delete(archive.delete).catch(() => undefined);
    const digest = archive && checkpointDigest({ training: "adapter", files }, baseDigest);
    return { baseModel, checkpoint: directory, ...(digest !== undefined && { digest }) };
  }

  /** Saves on the server under a new name, because names cannot be reused. Returns the `tinker://` path. */
  async #save(operation: "save_weights" | "save_weights_for_sampler"): Promise<string> {
    const body = { path: `heddle-${this.#steps}-${randomBytes(6).toString("hex")}`, type: operation };
    const { path } = await this.#operate(operation, body, { changes: false });
    if (typeof path !== "string")
      throw new HeddleError("failed", `the training server returned no path for ${operation}`);
    return path;
  }

  async #logprobs(sequences: TokenSequence[], signal?: AbortSignal): Promise<Float64Array[]> {
    const scored = sequences
      .map((sequence, index) => ({ sequence, index }))
      .filter(({ sequence }) => hasTrained(sequence));
    const results: Float64Array[] = sequences.map(({ tokens }) => new Float64Array(tokens.length).fill(NaN));
    const data = scored.map(({ sequence }) => datumOf(sequence, {}));
    for (const part of splitData(data)) {
      const members = scored.slice(part.from, part.to);
      const body = { forward_input: { data: data.slice(part.from, part.to), loss_fn: "cross_entropy" } };
      const result = await this.#operate("forward", body, { changes: false, signal });
      const logprobs = readLogprobs(
        result,
        members.map(({ sequence }) => sequence),
      );
      members.forEach(({ index }, at) => (results[index] = logprobs[at]!));
    }
    return results;
  }

  async #forwardBackward(loss: WireLoss, sequences: TokenSequence[], signal?: AbortSignal): Promise<Float64Array[]> {
    const results: Float64Array[] = [];
    for (const { from, to } of splitData(loss.data)) {
      const body = { forward_backward_input: { ...loss, data: loss.data.slice(from, to) } };
      const result = await this.#operate("forward_backward", body, { changes: true, signal });
      try {
        results.push(...readLogprobs(result, sequences.slice(from, to)));
      } catch (error) {
        throw this.#markUnusable(error);
      }
    }
    return results;
  }

  /**
   * Runs one numbered operation. The number of a rejected request is used again, because a server that counts would wait
   * for it.
   */
  async #operate(
    path: string,
    body: Record<string, unknown>,
    options: OperationOptions,
  ): Promise<Record<string, unknown>> {
    const { api, modelId, session } = this.#settings;
    const { changes, signal } = options;
    if (session.lost) throw this.#markUnusable(session.lost);
    if (signal?.aborted) throw new HeddleError("aborted", "the call was aborted");
    const numbered = { ...body, model_id: modelId, seq_id: this.#sequenceNumber + 1 };
    let accepted: Record<string, unknown>;
    try {
      accepted = await api.post(path, numbered, { signal, repeatable: false });
    } catch (error) {
      throw isUnknown(error) ? this.#markUnusable(error) : error;
    }
    this.#sequenceNumber++;
    try {
      return await api.result(accepted["request_id"], signal);
    } catch (error) {
      throw changes ? this.#markUnusable(error) : error;
    }
  }

  /** Rejects all later calls, since the state on the server is not known. Returns the error for the current one. */
  #markUnusable(error: unknown): unknown {
    const message = error instanceof Error ? error.message : String(error);
    this.#unusable ??= isUnknown(error) ? (error as HeddleError) : unknownOutcome(message, error);
    const isAbort = error instanceof HeddleError && error.code === "aborted";
    return isAbort ? error : this.#unusable;
  }

  #runExclusive<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#queue(async () => {
      if (this.#closed) throw new HeddleError("aborted", "the trainer is closed");
      if (this.#unusable) throw this.#unusable;
      return await work();
    });
  }

  #limits(): { vocabularySize: number; contextLength: number } {
    const { vocabularySize, maxSequenceTokens } = this.#settings;
    return { vocabularySize, contextLength: maxSequenceTokens };
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof HeddleError && error.details?.["outcome"] === "unknown";
}

function hasTrained({ mask }: TokenSequence): boolean {
  return mask.includes(1);
}

function emptyLogprobs({ sequences }: Objective): Float64Array[] {
  return sequences.map(({ tokens }) => new Float64Array(tokens.length).fill(NaN));
}

/** Sequences without a trained token are not sent: a server that averages would count them. */
function trainedPart(objective: Objective): { objective: Objective; indices: number[] } {
  const indices = objective.sequences.flatMap((sequence, index) => (hasTrained(sequence) ? [index] : []));
  const pick = <Sequence>(sequences: Sequence[]) => indices.map((index) => sequences[index]!);
  // Written once per objective, so that the types of sequence and objective match.
  return objective.name === "cross_entropy"
    ? { objective: { ...objective, sequences: pick(objective.sequences) }, indices }
    : { objective: { ...objective, sequences: pick(objective.sequences) }, indices };
}

/** Servers report the norm before clipping as `grad_norm`, with a prefix or a suffix of their own. */
function gradientNormOf(metrics: unknown): number | undefined {
  if (!isJsonObject(metrics)) return undefined;
  const [, value] = Object.entries(metrics).find(([name]) => /(?:^|\/)grad_norm(?::|$)/u.test(name)) ?? [];
  if (value === undefined) return undefined;
  return typeof value === "number" ? value : NaN;
}

/** `tinker://<model>/sampler_weights/<name>`; some servers omit `sampler_weights`. */
function archivePath(path: string): { download: string; delete: string } {
  const [, model, name] = /^tinker:\/\/([\w-]+)\/(?:sampler_weights\/)?([\w-]+)$/u.exec(path) ?? [];
  if (model === undefined || name === undefined) {
    throw new HeddleError("failed", "the training server returned a path of sampler weights that cannot be read");
  }
  const checkpoints = `training_runs/${model}/checkpoints`;
  return { download: `${checkpoints}/${name}/archive`, delete: `${checkpoints}/sampler_weights/${name}` };
}
