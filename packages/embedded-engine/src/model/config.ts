/**
 * Scaling of the rotary frequencies for long contexts: the Llama 3.1 rule (`rope_type: llama3`), or division by a
 * factor.
 */
export type RotaryScaling =
  | { type: "linear"; factor: number }
  | {
      type: "llama3";
      factor: number;
      lowFrequencyFactor: number;
      highFrequencyFactor: number;
      originalContextLength: number;
    };

/**
 * Shape of a decoder-only transformer with RMS norm, rotary positions (half-split, as Hugging Face lays them out) and
 * SwiGLU: everything in which the Llama, Qwen2 and Qwen3 families differ.
 */
export interface ModelConfig {
  family: "llama" | "qwen2" | "qwen3";
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
}
