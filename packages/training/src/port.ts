/**
 * The port of the training engine: what the other packages use for gradients and sampling. A trainer provider and a
 * sampler provider are composed to one engine by `composeEngine`: the embedded engine is both; remote providers call a
 * training server or an inference server.
 *
 * A *trainer* computes gradients from token sequences. A *sampler* generates tokens from prompts. *Weights* pass from
 * one to the other as a directory.
 *
 * Tokens are vocabulary ids. Log-probabilities are natural logarithms of the raw model distribution: temperature 1,
 * before penalties, masks and truncation. Every method rejects with an `HeddleError`.
 */
import type { StructuredOutput } from "@heddle/structured-outputs";
import type { LoraConfig, LoraTarget } from "./lora-config.js";

/** A name that `capabilities` lists: `heddle/starter`, `random:<preset>`, `dir:<alias>`, or a configured remote model. */
export type BaseModelName = string;

/**
 * Id of saved weights: the absolute path of the directory that was passed to `saveState` or `exportWeights`, or of a
 * copy of it. What else the directory has, such as a reference to a state on a server, is known to its provider only.
 */
export type WeightsId = string;

/** The weights of a base model, or those of a checkpoint. */
export interface WeightsRef {
  baseModel: BaseModelName;
  checkpoint?: WeightsId;
  /** Identity of the weights by content, as `exportWeights` returns it. If given, other weights are refused with `conflict`. */
  digest?: string;
}

export interface BaseModelInfo {
  name: BaseModelName;
  /** Number of weights. Absent if the provider does not know it. */
  parameters?: number;
  vocabularySize: number;
  /** Maximum number of tokens of prompt and completion together. */
  contextLength: number;
  /** Directory of `config.json`, `tokenizer.json` and the chat template. */
  directory: string;
  /** Absent: the model cannot be trained. */
  training?: TrainingCapabilities;
  /** Absent: the model cannot be sampled from. */
  sampling?: SamplingCapabilities;
}

export interface TrainingCapabilities {
  /** Objectives of `forwardBackward`. */
  objectives: Objective["name"][];
  /** Whether all weights can be trained, without an adapter. */
  fullFineTuning: boolean;
  /** Absent: adapters cannot be trained. */
  lora?: LoraCapabilities;
  /** Whether `maxGradientNorm` of the optimizer settings has an effect. */
  gradientClipping: boolean;
  /** Whether `forwardBackward` can return entropies. */
  entropies: boolean;
  /** Maximum number of tokens of a sequence, which context and memory limit. Jobs drop and count longer ones. */
  maxSequenceTokens: number;
  /** Maximum number of open trainers at the same time, over all models. Absent: unknown. */
  maxOpenTrainers?: number;
}

export interface LoraCapabilities {
  /** As `maxSequenceTokens` of the model, for an adapter. Absent: the same. */
  maxSequenceTokens?: number;
  /** The same for an adapter of another shape; 0 where a trainer has too little memory for it. Absent: as for the default. */
  sequenceTokens?(adapter: LoraConfig): number;
  /** The adapter that is trained if one is needed and none is configured. */
  default: LoraConfig;
  maxRank: number;
  /** The only possible value. Absent: any. */
  alpha?: number;
  /** Whether an adapter may have some of the targets only. If not, it has those of the default. */
  selectableTargets: boolean;
  /** The targets that an adapter may have, in groups of which it has all or none. Absent: every target by itself. */
  targetGroups?: LoraTarget[][];
}

export interface SamplingCapabilities {
  /** Maximum number of tokens of prompt and completion together. */
  contextLength: number;
  /** Whether checkpoints of fully trained weights can be loaded; those of adapters always can. */
  fullWeights: boolean;
}

export interface EngineCapabilities {
  models: BaseModelInfo[];
  /** Configured models that cannot be used, and why. None of them is in `models`. */
  unavailableModels: UnavailableModel[];
}

export interface EngineHealth {
  ok: boolean;
  /** The cause and the remedy, when `ok` is false. */
  detail?: string;
}

export interface UnavailableModel {
  name: BaseModelName;
  reason: string;
}

export interface EngineProvider {
  /** Names of the models that belong to this provider alone. Absent: all models that no other provider names. */
  readonly models?: ReadonlySet<BaseModelName>;
  /** Lists the models that the provider knows. Absent `training` or `sampling` means that it cannot do it. */
  capabilities(): Promise<EngineCapabilities>;
  health(): Promise<EngineHealth>;
  close(): Promise<void>;
}

export interface TrainerProvider extends EngineProvider {
  /** Returns the identity of weights by content. Weights with the same digest compute the same numbers. */
  weightsDigest(weights: WeightsRef): Promise<string>;
  /**
   * Returns the shape of the adapter that a checkpoint is, after checking that it belongs to the base model and that each
   * of its tensors has the form that the model needs, without reading numbers. Undefined for fully trained weights. Rejects with
   * `not_found`, `invalid`, `unsupported` or `conflict`, naming the file and what is wrong in it.
   */
  adapterOf(weights: WeightsRef): Promise<LoraConfig | undefined>;
  openTrainer(spec: TrainerSpec, signal?: AbortSignal): Promise<Trainer>;
  /**
   * Begins to write weights, with an adapter merged into those of its base model, in a form for other programs. Absent where
   * the weights of the base model are not on this machine. Rejects with `unsupported` for a model that the form cannot have.
   */
  exportModel?(weights: WeightsRef, wanted: ModelExport, signal?: AbortSignal): Promise<ExportedModel>;
  /**
   * Writes an adapter without effect in PEFT's layout, such as training begins with, into a directory, which is made. Absent
   * where the shape of the base model is not known on this machine. Rejects with `invalid` or `unsupported` for an adapter that
   * the base model cannot have.
   */
  writeUntrainedAdapter?(baseModel: BaseModelName, adapter: LoraConfig, directory: string): Promise<void>;
  /**
   * Deletes what a server keeps of saved weights. Called before the directory is removed; the directory itself belongs
   * to the caller. Has no effect on weights that are unknown or only in the directory.
   */
  deleteWeights(weights: WeightsRef): Promise<void>;
}

/** A form of exported weights. */
export interface ModelExport {
  /** `huggingface`: a tar archive of a directory that `transformers` loads. `gguf`: a file that llama.cpp loads. */
  layout: "huggingface" | "gguf";
  format: "f32" | "bf16";
}

/** Parts are made as they are read. Ending the iteration ends the export. */
export interface ExportedModel {
  bytes: number;
  parts: AsyncIterableIterator<Uint8Array>;
}

export interface SamplerProvider extends EngineProvider {
  readonly sampler: Sampler;
}

export interface TrainingEngine extends TrainerProvider, SamplerProvider {}

// Training

export interface TrainerSpec {
  weights: WeightsRef;
  /**
   * Absent: all weights are trained, or the default adapter if the provider cannot do that. A checkpoint that holds an
   * adapter keeps its own configuration.
   */
  adapter?: LoraConfig;
  /** Seed of the initial adapter factors; training itself is deterministic. Unsigned 32-bit integer. */
  seed: number;
  /** Starts with zero moments even if the checkpoint has an optimizer state, because the kind of training changed. */
  resetOptimizer?: boolean;
}

/**
 * One training sequence. All arrays have the length of `tokens`. Entry i refers to tokens[i] as predicted from the
 * tokens before it, so entry 0 is never trained.
 */
export interface TokenSequence {
  tokens: Int32Array;
  /** 1 for a trained token, 0 otherwise. */
  mask: Uint8Array;
}

/** Cross-entropy: the loss is the sum over trained tokens of `-weight * logprob`. */
export interface CrossEntropySequence extends TokenSequence {
  /** Absent: 1 everywhere. */
  weights?: Float64Array;
}

/** Inputs of the policy objective for one sequence; see `objective/policy-loss.ts` for the formulas. */
export interface PolicySequence extends TokenSequence {
  /** Weight of each trained token in the loss. */
  weights: Float64Array;
  advantages: Float64Array;
  /**
   * Log-probabilities under the old policy, the denominator of the importance ratio. NaN where unknown: the ratio is
   * then 1.
   */
  oldLogprobs: Float64Array;
  /**
   * Log-probabilities that the sampler reported, when `oldLogprobs` were recomputed (`precalculate_logprobs`). Used by
   * truncated importance sampling.
   */
  rolloutLogprobs?: Float64Array;
  /** Log-probabilities under the reference policy of the KL loss. Needed with `klLoss` only. */
  referenceLogprobs?: Float64Array;
  /**
   * Segment id per token: the tokens of a segment share one sequence-level ratio. Absent: the sequence is one segment.
   */
  segments?: Int32Array;
}

export interface PolicySettings {
  ppo: boolean;
  epsilon: number;
  epsilonHigh: number;
  importanceSamplingLevel: "token" | "sequence" | "average" | "geometric_average";
  maxNegativeAdvantageImportanceSamplingWeight?: number;
  maskProbRatio: boolean;
  k2Tau?: number;
  truncatedImportanceSampling?: number;
  klLoss?: KlLossSettings;
}

/** A divergence from a reference policy as a term of the loss; see `objective/kl-loss.ts` for the estimators. */
export interface KlLossSettings {
  coefficient: number;
  estimator: "k1" | "k3";
}

/** Plain data, so that it can be sent to another process or mapped to a loss of the same name in a remote trainer. */
export type Objective =
  | { name: "cross_entropy"; sequences: CrossEntropySequence[]; normalizer: number }
  | { name: "policy"; sequences: PolicySequence[]; settings: PolicySettings; normalizer: number };

export interface ForwardBackwardOutput {
  /** Loss of the sequences, divided by the objective's `normalizer`. */
  loss: number;
  /** Log-probabilities per sequence, aligned with its tokens; NaN at the first token and at untrained tokens. */
  logprobs: Float64Array[];
  /**
   * Entropy in nats of the model's distribution at each token that has an entry in `logprobs`, if it was requested and
   * the provider can compute it.
   */
  entropies?: Float64Array[];
  metrics: Record<string, number>;
}

/** Adam with decoupled weight decay. */
export interface OptimizerSettings {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** Maximum global norm of the gradient; 0 disables clipping. Without effect where capabilities say so. */
  maxGradientNorm: number;
}

/**
 * Trains one set of weights. A rejected call has changed nothing, with one exception: after an error whose
 * `details.outcome` is `unknown`, weights and gradient may or may not have changed. Such a trainer rejects every later
 * call but `close` in the same way, and training resumes with a new trainer from the last saved state.
 *
 * A loss that `Objective` does not express is trained with `logprobs` and then `forwardBackward` of `cross_entropy`
 * with the weights `-dLoss/dlogprob`.
 */
export interface Trainer {
  /** The adapter that is trained, also where it is that of the checkpoint. Absent: all weights, or unknown. */
  readonly adapter?: LoraConfig;
  /**
   * Returns the log-probabilities of the trained tokens (NaN for the others) under the current weights. Changes no
   * state.
   */
  logprobs(sequences: TokenSequence[], signal?: AbortSignal): Promise<Float64Array[]>;
  /**
   * Adds the gradient of the objective to the accumulated gradient. With one `normalizer`, several calls form one mean.
   * A provider that cannot add up several calls rejects the second one with `unsupported`. A call that fails or is
   * aborted while computing discards the accumulated gradient.
   */
  forwardBackward(
    objective: Objective,
    options?: { entropy?: boolean; signal?: AbortSignal; onProgress?: (trainedTokens: number) => void },
  ): Promise<ForwardBackwardOutput>;
  /**
   * Performs one optimizer step with the accumulated gradient and resets it to zero. Rejects when the gradient norm is
   * not finite. `gradientNorm` is NaN if the provider does not report it.
   */
  optimStep(settings: OptimizerSettings): Promise<{ gradientNorm: number; steps: number }>;
  /**
   * Saves what `openTrainer` needs to resume: weights, optimizer moments and step count. `directory` must not exist; it
   * appears complete or not at all. A remote provider keeps the state on its server and writes a reference to it.
   */
  saveState(directory: string): Promise<WeightsRef>;
  /**
   * Exports the weights for every sampler, into `directory`, which must not exist and appears complete or not at all:
   * PEFT layout for an adapter, Hugging Face layout otherwise. With `state`, `openTrainer` can resume from it as well.
   * `format`, by default f32 or that of the provider: bf16 takes half the space, and cannot be combined with `state`.
   */
  exportWeights(directory: string, options?: { state?: boolean; format?: "f32" | "bf16" }): Promise<WeightsRef>;
  close(): Promise<void>;
}

// Sampling

export interface GenerateRequest {
  weights: WeightsRef;
  prompt: Int32Array;
  /** Number of completions of the prompt; they share one prefill. */
  n: number;
  /** Maximum number of sampled tokens per completion. */
  maxTokens: number;
  minTokens?: number;
  /** Seed of the random draws; completion i of n uses `seed + i`. Absent: a random seed. Unsigned 32-bit integer. */
  seed?: number;
  /** 0 is greedy. Default 1. */
  temperature?: number;
  topP?: number;
  /** 0 or -1 disables it. */
  topK?: number;
  minP?: number;
  repetitionPenalty?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  logitBias?: Map<number, number>;
  allowedTokenIds?: number[];
  /** Token sequences that must not appear. */
  badWords?: Int32Array[];
  stop?: string[];
  stopTokenIds?: number[];
  includeStop?: boolean;
  ignoreEos?: boolean;
  skipSpecialTokens?: boolean;
  /** Number of alternatives per sampled token; -1 for the complete vocabulary. */
  topLogprobs?: number;
  /** Number of alternatives per prompt token. Absent: prompt log-probabilities are not computed. */
  promptLogprobs?: number;
  structuredOutput?: StructuredOutput;
  /** The beam width is `n`. */
  beamSearch?: { lengthPenalty: number };
  repetitionDetection?: { maxPatternSize: number; minPatternSize: number; minCount: number };
  /** Separates the prompts that a sampler keeps: what has another salt, or none, finds none of them. 1 to 1,024 characters. */
  cacheSalt?: string;
  /** Of the requests of one key, those with a higher priority are scheduled earlier. */
  priority?: number;
  /**
   * The key that the request is made with, and the entity of the key: names that mean nothing to the sampler. A sampler
   * whose rows and memory are limited keeps a part of them from each. Absent: limited by the capacity only.
   */
  sharer?: { key: string; entity: string };
}

export interface TokenLogprob {
  token: number;
  logprob: number;
  /** Rank by probability; 1 is the most likely token. */
  rank: number;
}

export interface SampledToken {
  token: number;
  logprob: number;
  /** Most likely first; at most the requested number. */
  alternatives: TokenLogprob[];
  /** The same one by one, where `alternatives` makes a long list at each access. */
  eachAlternative?(): Iterable<TokenLogprob>;
}

/**
 * A streamed part of one completion. `text` is empty while the bytes of a character or a possible stop string are
 * buffered.
 */
export interface CompletionChunk {
  index: number;
  text: string;
  tokens: SampledToken[];
}

export interface Completion {
  index: number;
  text: string;
  tokens: SampledToken[];
  finishReason: "stop" | "length" | "repetition" | "abort";
  /** The stop string or stop token that ended the completion; null for an end-of-text token or the length limit. */
  stopReason: string | number | null;
}

export interface GenerateResult {
  completions: Completion[];
  /** Id of the weights that were used: the checkpoint of the request, or the name of the base model. */
  weightsId: WeightsId;
  /** Per prompt token: the token itself, then alternatives; null for the first token. */
  promptLogprobs?: ((TokenLogprob[] & { 0: TokenLogprob }) | null)[];
  /** Tokens of the prompt whose keys and values were kept from earlier requests. */
  cachedTokens: number;
}

export interface Sampler {
  /** Returns the names of all fields of the request that this sampler cannot honour; `generate` would reject them. */
  unsupportedFields(request: Partial<GenerateRequest>): (keyof GenerateRequest)[];
  /** Generates completions. An abort stops the request within one decoding step; the call rejects with `aborted`. */
  generate(
    request: GenerateRequest,
    options?: { onChunk?: (chunk: CompletionChunk) => void; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  /** Imports weights before the first request that uses them. */
  preload(weights: WeightsRef): Promise<void>;
  /** Unloads weights once no request uses them. Unknown weights are ignored. */
  unload(weights: WeightsRef): Promise<void>;
}
