/**
 * Scaling of the rotary frequencies for long contexts: the Llama 3.1 rule (`rope_type: llama3`), YaRN (Peng et al.,
 * arXiv 2309.00071), or division by a factor.
 */
export type RotaryScaling =
  | { type: "linear"; factor: number }
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
 * Shape of a decoder-only transformer with RMS norm, rotary positions (half-split, as Hugging Face lays them out) and
 * SwiGLU: everything in which the Llama, Mistral, Qwen2 and Qwen3 families differ.
 */
export interface ModelConfig {
  family: "llama" | "mistral" | "qwen2" | "qwen3";
  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  /** Number of query heads; a multiple of `keyValueHeads`. */
  heads: number;
  keyValueHeads: number;
  /** Width of a head; even. Not always `hiddenSize / heads`. */
  headSize: number;
  /** Width of the gate and of the up projection. */
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
}
