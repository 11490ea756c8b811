/**
 * The port of the training engine: what the rest of Heddle knows of gradients and sampling. One implementation runs on
 * this machine's CPU; another can speak to a training cluster. Three notions: a *trainer* turns token sequences into
 * gradients, a *sampler* turns prompts into tokens, *weights* are named places that both read and the trainer writes.
 *
 * Tokens are vocabulary ids. Log-probabilities are natural logarithms of the raw model distribution: temperature 1,
 * before penalties, masks and truncation. Every method rejects with an `EngineError`.
 */
import type { LoraConfig } from "./model/parameters.js";

/** `heddle/starter`, `random:<preset>` or `dir:<alias>` of a directory that the operator named. */
export type BaseModelName = string;

/** The weights of a base model, or those a trainer wrote: `checkpoint` is the absolute directory given to `save`. */
export interface WeightsRef {
  baseModel: BaseModelName;
  checkpoint?: string;
}

export interface BaseModelInfo {
  name: BaseModelName;
  parameters: number;
  vocabularySize: number;
  /** Tokens of prompt and completion together. */
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
  /** What is wrong and what to do, when `ok` is false. */
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
  /** Absent: all weights are trained. A checkpoint that holds an adapter goes on with its own shape. */
  adapter?: LoraConfig;
  /** Seeds the adapter's first factors; training itself draws nothing. Unsigned 32 bit. */
  seed: number;
  /** Begin with fresh moments although the checkpoint has some (the kind of training changed). */
  resetOptimizer?: boolean;
}

/**
 * One sequence to learn from. All arrays have the length of `tokens`; entry i speaks of tokens[i] itself, as predicted by
 * the tokens before it, so entry 0 is never trained.
 */
export interface TokenSequence {
  tokens: Int32Array;
  /** 1 where the token is trained. */
  mask: Uint8Array;
}

/** Cross-entropy: the loss is the sum over trained tokens of `-weight * logprob`. */
export interface CrossEntropySequence extends TokenSequence {
  /** Absent: 1 everywhere. */
  weights?: Float64Array;
}

/** What a policy objective knows of a sequence besides its tokens; see `objective/policy-loss.ts` for the formulas. */
export interface PolicySequence extends TokenSequence {
  /** Weight of each trained token in the loss. */
  weights: Float64Array;
  advantages: Float64Array;
  /** Log-probabilities under the policy that sampled; NaN where unknown (the ratio is then 1). */
  oldLogprobs: Float64Array;
  /** Before `precalculate_logprobs` replaced `oldLogprobs`: what the sampler reported. For truncated importance sampling. */
  rolloutLogprobs?: Float64Array;
  /** Part of a sequence that shares one sequence-level ratio; absent: the whole sequence is one. */
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

/** Data, not a function: it crosses process boundaries, and another engine may know the same loss by name. */
export type Objective =
  | { name: "cross_entropy"; sequences: CrossEntropySequence[]; normalizer: number }
  | { name: "policy"; sequences: PolicySequence[]; settings: PolicySettings; normalizer: number };

export interface ForwardBackwardOutput {
  /** Loss of the given sequences, already divided by the objective's `normalizer`. */
  loss: number;
  /** Of each sequence, aligned with its tokens; NaN at the first token and where nothing was trained. */
  logprobs: Float64Array[];
  /** Entropy in nats of the model's distribution at each token that `logprobs` has, when asked for. */
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
  /** Largest global norm of the gradient; 0: never clipped. */
  maxGradientNorm: number;
}

export interface Trainer {
  /** Log-probabilities of the masked tokens (NaN elsewhere) under the weights as they are now. Changes nothing. */
  logprobs(sequences: TokenSequence[], signal?: AbortSignal): Promise<Float64Array[]>;
  /** Adds the gradient of the objective to what is already there. `normalizer` makes sums over several calls one mean. */
  forwardBackward(
    objective: Objective,
    options?: { entropy?: boolean; signal?: AbortSignal; onProgress?: (trainedTokens: number) => void },
  ): Promise<ForwardBackwardOutput>;
  /** One optimizer step with the gradient so far, which is then zero. A norm that is not finite fails and changes nothing. */
  optimStep(settings: OptimizerSettings): Promise<{ gradientNorm: number; steps: number }>;
  /**
   * Writes a checkpoint into `directory`, which must not exist: Hugging Face layout, or PEFT layout for an adapter, and with
   * `optimizer` the moments and the step count. It appears whole or not at all.
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

/** At most one constraint on the text of a completion. */
export type StructuredOutput =
  | { type: "json_schema"; schema: unknown; whitespace?: boolean; whitespacePattern?: string }
  | { type: "json_object" }
  | { type: "regex"; regex: string }
  | { type: "choice"; choices: string[] }
  | { type: "grammar"; grammar: string }
  | { type: "structural_tag"; tag: unknown };

export interface GenerateRequest {
  weights: WeightsRef;
  prompt: Int32Array;
  /** Completions of the same prompt; one prefill serves them all. */
  n: number;
  /** Tokens to sample at most, per completion. */
  maxTokens: number;
  minTokens?: number;
  /** Fixes the draws; completion i of n draws with `seed + i`. Absent: a random one. Unsigned 32 bit. */
  seed?: number;
  /** 0 is greedy. Default 1. */
  temperature?: number;
  topP?: number;
  /** 0 or -1: all. */
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
  /** Alternatives per sampled token; -1: the whole vocabulary. */
  topLogprobs?: number;
  /** Alternatives per prompt token; absent: none are computed. */
  promptLogprobs?: number;
  structuredOutput?: StructuredOutput;
  /** Width is `n`. */
  beamSearch?: { lengthPenalty: number };
  repetitionDetection?: { maxPatternSize: number; minPatternSize: number; minCount: number };
  /** Higher runs earlier when rows are short. */
  priority?: number;
}

export interface TokenLogprob {
  token: number;
  logprob: number;
  /** 1 is the most likely token. */
  rank: number;
}

export interface SampledToken {
  token: number;
  logprob: number;
  /** Most likely first; only as many as were asked for. */
  alternatives: TokenLogprob[];
}

/** A piece of one completion. `text` may be empty while bytes of a character or of a stop string are held back. */
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
  /** The stop string or stop token that ended it; null for the end-of-text token and for the length. */
  stopReason: string | number | null;
}

export interface GenerateResult {
  completions: Completion[];
  /** Per prompt token: itself first, then alternatives; null at the first token. */
  promptLogprobs?: ((TokenLogprob[] & { 0: TokenLogprob }) | null)[];
  cachedTokens: number;
}

export interface Sampler {
  /** An abort ends the request within a step and rejects with `aborted`. */
  generate(
    request: GenerateRequest,
    options?: { onChunk?: (chunk: CompletionChunk) => void; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  /** Loads the weights so that the next request does not wait for them. */
  preload(weights: WeightsRef): Promise<void>;
  /** Forgets loaded weights once no request uses them; unknown ones are ignored. */
  unload(weights: WeightsRef): Promise<void>;
}
