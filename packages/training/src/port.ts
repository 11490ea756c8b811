/**
 * The port of the training engine: what the other packages use for gradients and sampling. One implementation runs on
 * the CPU of this machine. Another can call a remote trainer or inference server.
 *
 * A *trainer* computes gradients from token sequences. A *sampler* generates tokens from prompts. *Weights* are
 * addressed by reference: both read them, and the trainer writes new ones.
 *
 * Tokens are vocabulary ids. Log-probabilities are natural logarithms of the raw model distribution: temperature 1,
 * before penalties, masks and truncation. Every method rejects with an `HeddleError`.
 */
import type { StructuredOutput } from "@heddle/structured-outputs";
import type { LoraConfig } from "./lora-config.js";

/** `heddle/starter`, `random:<preset>` or `dir:<alias>` of a directory from the configuration. */
export type BaseModelName = string;

/**
 * The weights of a base model, or of a checkpoint: `checkpoint` is the absolute directory that was passed to `save`.
 */
export interface WeightsRef {
  baseModel: BaseModelName;
  checkpoint?: string;
}

export interface BaseModelInfo {
  name: BaseModelName;
  parameters: number;
  vocabularySize: number;
  /** Maximum number of tokens of prompt and completion together. */
  contextLength: number;
  /** Directory of `config.json`, `tokenizer.json` and the chat template. */
  directory: string;
}

export interface EngineCapabilities {
  models: BaseModelInfo[];
  fullFineTuning: boolean;
  adapters: boolean;
  sampling: SamplingFeature[];
}

export interface EngineHealth {
  ok: boolean;
  /** The cause and the remedy, when `ok` is false. */
  detail?: string;
}

export interface TrainingEngine {
  readonly kind: "embedded" | "tinker";
  capabilities(): Promise<EngineCapabilities>;
  health(): Promise<EngineHealth>;
  openTrainer(spec: TrainerSpec, signal?: AbortSignal): Promise<Trainer>;
  readonly sampler: Sampler;
  close(): Promise<void>;
}

// Training

export interface TrainerSpec {
  weights: WeightsRef;
  /** Absent: all weights are trained. A checkpoint that holds an adapter keeps its own configuration. */
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
  /** Entropy in nats of the model's distribution at each token that has an entry in `logprobs`, if requested. */
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
  /** Maximum global norm of the gradient; 0 disables clipping. */
  maxGradientNorm: number;
}

export interface Trainer {
  /**
   * Returns the log-probabilities of the trained tokens (NaN for the others) under the current weights. Changes no
   * state.
   */
  logprobs(sequences: TokenSequence[], signal?: AbortSignal): Promise<Float64Array[]>;
  /**
   * Adds the gradient of the objective to the accumulated gradient. With one `normalizer`, several calls form one mean.
   */
  forwardBackward(
    objective: Objective,
    options?: { entropy?: boolean; signal?: AbortSignal; onProgress?: (trainedTokens: number) => void },
  ): Promise<ForwardBackwardOutput>;
  /**
   * Performs one optimizer step with the accumulated gradient and resets it to zero. Rejects, without changing the
   * weights, when the gradient norm is not finite.
   */
  optimStep(settings: OptimizerSettings): Promise<{ gradientNorm: number; steps: number }>;
  /**
   * Writes a checkpoint into `directory`, which must not exist: Hugging Face layout, or PEFT layout for an adapter.
   * With `optimizer` it includes the moments and the step count. The write is atomic.
   */
  save(directory: string, options?: { optimizer?: boolean }): Promise<WeightsRef>;
  close(): Promise<void>;
}

// Sampling

export type SamplingFeature =
  | "penalties"
  | "logit_bias"
  | "allowed_token_ids"
  | "bad_words"
  | "min_p"
  | "min_tokens"
  | "stop"
  | "prompt_logprobs"
  | "top_logprobs"
  | "beam_search"
  | "repetition_detection"
  | "structured_outputs";

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
  /** Requests with a higher priority are scheduled earlier. */
  priority?: number;
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
  /** Per prompt token: the token itself, then alternatives; null for the first token. */
  promptLogprobs?: ((TokenLogprob[] & { 0: TokenLogprob }) | null)[];
  cachedTokens: number;
}

export interface Sampler {
  /** Generates completions. An abort stops the request within one decoding step; the call rejects with `aborted`. */
  generate(
    request: GenerateRequest,
    options?: { onChunk?: (chunk: CompletionChunk) => void; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  /** Loads weights before the first request that uses them. */
  preload(weights: WeightsRef): Promise<void>;
  /** Unloads weights once no request uses them. Unknown weights are ignored. */
  unload(weights: WeightsRef): Promise<void>;
}
