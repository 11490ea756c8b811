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
import type { ServerResponse } from "../server-response.js";
import type { CallOptions, TinkerApi } from "./api.js";
import { acceptedBody } from "./api.js";
import { writeCheckpointDirectory } from "../checkpoint-directory.js";
import { splitData } from "./chunks.js";
import { datumOf, readLogprobs } from "./datum.js";
import { isUnknownRoute } from "./dialect.js";
import type { Dialect } from "./dialect.js";
import { downloadArchive, downloadSignedFiles } from "./download-adapter.js";
import type { GradientScale } from "../remote-model.js";
import type { WireLoss } from "./loss-mapping.js";
import { linearLoss, lossCoefficients, serverLoss } from "./loss-mapping.js";
import { protobufType } from "./protobuf.js";
import { encodePass } from "./protobuf-request.js";
import type { NumberedPass } from "./protobuf-request.js";
import type { TinkerSession } from "./session.js";
import { unloadModel } from "./unload-model.js";
import { unknownOutcome } from "./unknown-outcome.js";

export interface TinkerTrainerSettings {
  api: TinkerApi;
  http: HttpClient;
  /** Identity of the server, recorded in saved states. */
  server: string;
  session: TinkerSession;
  /** What is known of the wire that the server speaks; shared by its trainers. */
  dialect: Dialect;
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

/** An adapter on the server, on the way to a directory of this machine. */
interface ExportedAdapter {
  /** Writes its files into a directory, and returns their names. */
  download(directory: string): Promise<string[]>;
  /** Path at which it is deleted. */
  path: string;
}

const unloadTimeoutMs = 30_000;
/** An adapter that could not be deleted after its download does not stay for ever. */
const exportSeconds = 3600;

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
      await unloadModel(api, { modelId, sessionId: session.id }, signal);
    } finally {
      // Without heartbeats, the server unloads a model that could not be unloaded now.
      session.close();
      onClose();
    }
  }

  async #write(directory: string, contents: { state: boolean; weights: boolean }): Promise<WeightsRef> {
    const { baseModel, baseDigest, adapter, seed, server } = this.#settings;
    const path = contents.state ? await this.#save("save_weights") : undefined;
    const exported = contents.weights ? await this.#export() : undefined;
    const remote = path === undefined ? undefined : { server, path, rank: adapter.rank };
    const description = { baseModel, baseDigest, steps: this.#steps, seed, remote };
    const files = await writeCheckpointDirectory(
      directory,
      description,
      async (partial) => (await exported?.download(partial)) ?? [],
    );
    // The export was only a way to the directory. Servers that cannot delete it keep it.
    if (exported) await this.#settings.api.delete(exported.path).catch(() => undefined);
    const digest = exported && checkpointDigest({ training: "adapter", files }, baseDigest);
    return { baseModel, checkpoint: directory, ...(digest !== undefined && { digest }) };
  }

  /** Has the server write the adapter for others: as files with an address each, or as the archive of earlier servers. */
  async #export(): Promise<ExportedAdapter> {
    const { http, api, baseModel, dialect } = this.#settings;
    if (dialect.externalWeights !== false) {
      const body = { path: this.#freshName(), ttl_seconds: exportSeconds, type: "save_weights_external" };
      const response = await this.#send("save_weights_external", body, { changes: false });
      if (!isUnknownRoute(response)) {
        const { path } = await this.#resultOf("save_weights_external", response, { changes: false });
        dialect.externalWeights = true;
        const checkpoint = checkpointPath(path, "external_weights");
        const urls = () => api.get(`${checkpoint}/external_weights_urls`);
        return {
          path: checkpoint,
          download: (directory) => downloadSignedFiles(http, urls, { directory, baseModel }),
        };
      }
    }
    const path = checkpointPath(await this.#save("save_weights_for_sampler"), "sampler_weights");
    dialect.externalWeights = false;
    const archive = `${path.replace("/sampler_weights/", "/")}/archive`;
    return { path, download: (directory) => downloadArchive(http, archive, { directory, baseModel }) };
  }

  /** Saves on the server under a new name, because names cannot be reused. Returns the `tinker://` path. */
  async #save(operation: "save_weights" | "save_weights_for_sampler"): Promise<string> {
    const body = { path: this.#freshName(), type: operation };
    const { path } = await this.#operate(operation, body, { changes: false });
    if (typeof path !== "string")
      throw new HeddleError("failed", `the training server returned no path for ${operation}`);
    return path;
  }

  #freshName(): string {
    return `heddle-${this.#steps}-${randomBytes(6).toString("hex")}`;
  }

  async #logprobs(sequences: TokenSequence[], signal?: AbortSignal): Promise<Float64Array[]> {
    const scored = sequences
      .map((sequence, index) => ({ sequence, index }))
      .filter(({ sequence }) => hasTrained(sequence));
    const results: Float64Array[] = sequences.map(({ tokens }) => new Float64Array(tokens.length).fill(NaN));
    const data = scored.map(({ sequence }) => datumOf(sequence, {}));
    for (const part of splitData(data)) {
      const members = scored.slice(part.from, part.to);
      const input = { data: data.slice(part.from, part.to), loss_fn: "cross_entropy" };
      const result = await this.#pass("forward", input, { changes: false, signal });
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
      const input = { ...loss, data: loss.data.slice(from, to) };
      const result = await this.#pass("forward_backward", input, { changes: true, signal });
      try {
        results.push(...readLogprobs(result, sequences.slice(from, to)));
      } catch (error) {
        throw this.#markUnusable(error);
      }
    }
    return results;
  }

  /** Runs a pass, as JSON or, on a server that refuses that, as Protocol Buffers. Nothing was done when it was refused. */
  async #pass(
    path: "forward" | "forward_backward",
    input: NumberedPass["input"],
    options: OperationOptions,
  ): Promise<Record<string, unknown>> {
    const { dialect, modelId } = this.#settings;
    let refused: ServerResponse | undefined;
    if (!dialect.passesAreMessages) {
      const response = await this.#send(path, { [`${path}_input`]: input }, options);
      // Servers of messages have one route for both passes.
      if (response.status !== 415 && !(path === "forward" && isUnknownRoute(response))) {
        return await this.#resultOf(path, response, options);
      }
      refused = response;
    }
    const pass = { modelId, sequenceNumber: this.#sequenceNumber + 1, forwardOnly: path === "forward", input };
    const response = await this.#sendNumbered("forward_backward", encodePass(pass), {
      ...options,
      contentType: protobufType,
    });
    if (response.status >= 300 && refused && refused.status !== 415) acceptedBody(path, refused);
    const result = await this.#resultOf(path, response, { ...options, accept: protobufType });
    dialect.passesAreMessages = true;
    return result;
  }

  /** Runs one numbered operation. */
  async #operate(
    path: string,
    body: Record<string, unknown>,
    options: OperationOptions,
  ): Promise<Record<string, unknown>> {
    return await this.#resultOf(path, await this.#send(path, body, options), options);
  }

  #send(path: string, body: Record<string, unknown>, options: OperationOptions): Promise<ServerResponse> {
    const { modelId } = this.#settings;
    return this.#sendNumbered(path, { ...body, model_id: modelId, seq_id: this.#sequenceNumber + 1 }, options);
  }

  /**
   * Sends a body with the next number. The number of a rejected request is used again, because a server that counts would
   * wait for it.
   */
  async #sendNumbered(
    path: string,
    body: unknown,
    { signal, contentType }: Pick<CallOptions, "signal" | "contentType">,
  ): Promise<ServerResponse> {
    const { api, session } = this.#settings;
    if (session.lost) throw this.#markUnusable(session.lost);
    if (signal?.aborted) throw new HeddleError("aborted", "the call was aborted");
    try {
      const response = await api.request(path, body, { signal, contentType, repeatable: false });
      if (response.status < 300) this.#sequenceNumber++;
      return response;
    } catch (error) {
      throw isUnknown(error) ? this.#markUnusable(error) : error;
    }
  }

  async #resultOf(
    path: string,
    response: ServerResponse,
    { changes, signal, accept }: OperationOptions & { accept?: string },
  ): Promise<Record<string, unknown>> {
    let accepted: Record<string, unknown>;
    try {
      accepted = acceptedBody(path, response);
    } catch (error) {
      throw isUnknown(error) ? this.#markUnusable(error) : error;
    }
    try {
      return await this.#settings.api.result(accepted["request_id"], { signal, accept });
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

/** Path of a checkpoint for requests. The server names it `tinker://<model>/<kind>/<name>`, or without the kind. */
function checkpointPath(path: unknown, kind: "sampler_weights" | "external_weights"): string {
  const [, model, found = kind, name] =
    /^tinker:\/\/([\w:.-]+)\/(?:(\w+)\/)?([\w.-]+)$/u.exec(typeof path === "string" ? path : "") ?? [];
  if (model === undefined || found !== kind || name === undefined) {
    throw new HeddleError("failed", `the training server returned a path of ${kind} that cannot be read`);
  }
  return `training_runs/${model}/checkpoints/${kind}/${name}`;
}
