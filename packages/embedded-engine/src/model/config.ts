/** Families of models that the engine computes, by their `model_type`. */
export type ModelFamily =
  | "llama"
  | "mistral"
  | "qwen2"
  | "qwen3"
  | "qwen3_moe"
  | "smollm3"
  | "granite"
  | "olmo2"
  | "phi3"
  | "gemma3_text"
  | "gpt_oss"
  | "qwen3_5_text"
  | "qwen3_next"
  | "qwen3_5_moe_text";

/** A mixture of experts in place of the feed-forward block of every layer. */
export interface Experts {
  count: number;
  /** Number of experts that compute a token. */
  perToken: number;
  /** Whether the weights of the experts of a token are divided by their sum. */
  sharesSumToOne: boolean;
  /** Whether the router and all projections of the experts have biases (gpt-oss). */
  hasBiases?: true;
  /** Width of an expert that computes every token, by a weight of its own between 0 and 1 (Qwen3-Next). Absent: there is none. */
  sharedWidth?: number;
}

/** In what a layer differs from the others of its model. Nothing of it is in the weights. */
export interface LayerKind {
  /** Number of positions that a token attends to, itself among them. Absent: all before it. */
  window?: number;
  /** Linear attention by the gated delta rule (Yang et al., arXiv 2412.06464), with neither of the others. */
  linear?: true;
  /** Positions: `local` are rotated with `localRotaryBase`, without scaling; `none` not at all. */
  rotary?: "local" | "none";
}

/** Layers of linear attention. */
export interface LinearAttention {
  /** Number of heads of queries, and of keys; they divide those of values. */
  keyHeads: number;
  valueHeads: number;
  keySize: number;
  valueSize: number;
  /** Number of positions, itself among them, that queries, keys and values of a position are summed over. */
  kernel: number;
}

/**
 * Scaling of the rotary frequencies for long contexts: the Llama 3.1 rule (`rope_type: llama3`), YaRN (Peng et al.,
 * arXiv 2309.00071), or division by a factor.
 */
export type RotaryScaling =
  | { type: "linear"; factor: number }
  | {
      /** LongRoPE, see `long-texts.ts`. */
      type: "longrope";
      /** Divisor of each frequency in texts up to the original context. */
      divisors: number[];
      /** Those of longer texts. */
      longDivisors: number[];
      originalContextLength: number;
      /** Factor of the rotated queries and keys. */
      attentionFactor: number;
    }
  | {
      type: "yarn";
      factor: number;
      originalContextLength: number;
      /** Rotations within the original context above which a frequency is kept, and below which it is divided. */
      betaFast: number;
      betaSlow: number;
      /** Factor of the rotated queries and keys. */
      attentionFactor: number;
      /** Whether the limits of the interpolated pairs are rounded to whole pairs. */
      truncate: boolean;
    }
  | {
      type: "llama3";
      factor: number;
      lowFrequencyFactor: number;
      highFrequencyFactor: number;
      originalContextLength: number;
    };

/**
 * Shape of a decoder-only transformer with RMS norm, rotary positions (half-split, as Hugging Face lays them out) and a
 * gated feed-forward block: everything in which the families differ. One implementation of the forward and backward pass and of
 * the sampler reads it; none of them asks for the family. What is absent is as in Llama.
 */
export interface ModelConfig {
  family: ModelFamily;
  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  /** Number of query heads; a multiple of `keyValueHeads`. */
  heads: number;
  keyValueHeads: number;
  /** Width of a head; even. Not always `hiddenSize / heads`. */
  headSize: number;
  /** Width of the gate and of the up projection, of one expert if there are several. */
  feedForwardSize: number;
  /** Maximum number of tokens of prompt and completion together. */
  contextLength: number;
  normEpsilon: number;
  rotaryBase: number;
  rotaryScaling?: RotaryScaling;
  /** Whether the output head is the embedding. */
  tiedEmbeddings: boolean;
  /** Whether an RMS norm is applied to each query and key head before the rotation (Qwen3). */
  queryKeyNorm: boolean;
  /** Whether the query, key and value projections have biases (Qwen2). */
  attentionBias: boolean;
  /** Whether the output projection of attention has a bias (Llama and Qwen3 with `attention_bias`). */
  outputBias?: boolean;
  /** Whether the gate, up and down projections have biases (Llama with `mlp_bias`). */
  feedForwardBias?: boolean;
  /** Kind of each layer. Absent: all attend to everything before them and rotate whole texts. */
  layerKinds?: LayerKind[];
  /** Base of the rotation of `local` layers. */
  localRotaryBase?: number;
  /** Width of the beginning of a head that is rotated. Absent: all of it. */
  rotarySize?: number;
  /**
   * Where the RMS norms of attention and feed-forward blocks are: of what a block reads (absent), of what it adds to the residual
   * stream (`after`: OLMo 2), or of both (`around`: Gemma 3).
   */
  norms?: "after" | "around";
  /** Whether the norms of queries and keys are over all heads together (OLMo 2). With `queryKeyNorm`. */
  wideQueryKeyNorm?: boolean;
  experts?: Experts;
  /** Function of the gate. Absent: SiLU. */
  activation?: "gelu_tanh";
  /**
   * Of gpt-oss: `(up + 1) gate sigmoid(slope gate)`, with the gate up to the limit and `up` within it on both sides. Instead of
   * `activation`.
   */
  limitedGate?: { limit: number; slope: number };
  /** Of the layers whose kind is linear. */
  linearAttention?: LinearAttention;
  /** Whether each query has a gate, whose sigmoid the output of its head is multiplied by (Qwen3.5, Qwen3-Next). */
  outputGate?: boolean;
  /** Whether each head has a weight that takes a part of its attention from all positions (gpt-oss). */
  attentionSinks?: boolean;
  /** Factor of the scores of attention. Absent: `1 / sqrt(headSize)`. */
  attentionScale?: number;
  /** Factor of the embedded tokens. */
  embeddingScale?: number;
  /** Factor of what a block adds to the residual stream. */
  residualScale?: number;
  /** Factor of the logits. */
  logitScale?: number;
}
