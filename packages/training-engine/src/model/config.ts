/** How rotary frequencies are stretched for long contexts: Llama 3.1's rule (`rope_type: llama3`), or division by a factor. */
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
 * The shape of a decoder-only transformer with RMS norm, rotary positions (half-split, as Hugging Face lays them out) and
 * SwiGLU: all that the Llama, Qwen2 and Qwen3 families differ in.
 */
export interface ModelConfig {
  family: "llama" | "qwen2" | "qwen3";
  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  /** Query heads; a multiple of `keyValueHeads`. */
  heads: number;
  keyValueHeads: number;
  /** Width of one head; even. Not always `hiddenSize / heads`. */
  headSize: number;
  /** Width of the gate and of the up projection. */
  feedForwardSize: number;
  /** Tokens of prompt and completion together. */
  contextLength: number;
  normEpsilon: number;
  rotaryBase: number;
  rotaryScaling?: RotaryScaling;
  /** The output head is the embedding. */
  tiedEmbeddings: boolean;
  /** RMS norm over each query and key head before the rotation (Qwen3). */
  queryKeyNorm: boolean;
  /** Biases of the query, key and value projections (Qwen2). */
  attentionBias: boolean;
}
