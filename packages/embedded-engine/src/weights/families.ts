import type { ModelConfig, ModelFamily, RotaryScaling } from "../model/config.js";

/** How a family differs from Llama, in `config.json` and in its files. */
export interface FamilyRecord {
  /** Value of `architectures`. */
  architecture: string;
  /** What all models of the family have. */
  shape?: Partial<ModelConfig>;
  /** Values of absent fields, as in `transformers`. */
  defaults?: {
    keyValueHeads?: number | "heads";
    headSize?: number;
    tiedEmbeddings?: true;
    rotaryBase?: number;
    normEpsilon?: number;
    rotaryScaling?: RotaryScaling;
    window?: number;
    /** Part of each head that is rotated. */
    rotatedPart?: number;
    /** Of the fields of `biases`. Absent: false. */
    attentionBias?: true;
    /** Whether the weights of the experts of a token are divided by their sum. Absent: false. */
    expertSharesSumToOne?: true;
  };
  /** Fields of `config.json` for biases that models of the family may have. */
  biases?: readonly ("attention_bias" | "mlp_bias")[];
  /**
   * Which layers have windows: all, if there is a width (`all`), those that `layer_types` names or that follow `max_window_layers`
   * (`some`), every second one from the first that `layer_types` does not name (`alternating`), or all but one of so many, which
   * rotate positions by a base of their own (a number). Absent: none.
   */
  windows?: "all" | "some" | "alternating" | number;
  /** Whether layers are without positions, which `no_rope_layers` and `no_rope_layer_interval` name. */
  hasLayersWithoutPositions?: true;
  /**
   * Which factors of embeddings, scores, blocks and logits there are: those of fields (`multipliers`), or those of Gemma, whose
   * embeddings are multiplied by the root of their width.
   */
  factors?: "multipliers" | "gemma";
  /** Whether a part of each head may be rotated, and positions be those of LongRoPE. */
  rotatesParts?: true;
  /**
   * Whether experts replace the feed-forward block of every layer. A file has the matrices of each expert (`separate`; or of all of
   * them as in `stacked-experts.ts`), or those of all as one tensor, with columns of gates and ups in turn and with biases
   * (`together`).
   */
  experts?: "separate" | "together";
  /** Whether one more expert computes every token. */
  hasSharedExpert?: true;
  /** Names of the norms of a layer in the files. */
  norms?: Partial<Record<NormParameter, string>>;
  /** Whether a file has queries, keys and values, and gates and ups, as one tensor each. */
  isFused?: true;
  /** What is added to the norms of a file. */
  normOffset?: 1;
  /** Whether `layer_types` names layers of linear attention, by default all but each fourth. */
  hasLinearAttention?: true;
  /** Whether a file has the columns of linear attention as two tensors, by head of keys. */
  isLinearByHead?: true;
  /** Tensors of parts that are not computed, such as one that reads images or one that predicts several tokens. */
  others?: RegExp;
  /**
   * The class of a model of which this one is the part for texts: its fields are those of `text_config`, its tensors have a prefix
   * in place of `model.`.
   */
  partOf?: { architecture: string; prefix: string };
}

export type NormParameter = "attention_norm" | "attention_after_norm" | "feed_forward_norm" | "feed_forward_after_norm";

/** Names of Llama. */
const llamaNorms = { attention_norm: "input_layernorm", feed_forward_norm: "post_attention_layernorm" } as const;

export const families: Readonly<Record<ModelFamily, FamilyRecord>> = {
  llama: {
    architecture: "LlamaForCausalLM",
    defaults: { keyValueHeads: "heads" },
    biases: ["attention_bias", "mlp_bias"],
  },
  mistral: { architecture: "MistralForCausalLM", defaults: { keyValueHeads: 8, window: 4096 }, windows: "all" },
  qwen2: { architecture: "Qwen2ForCausalLM", shape: { attentionBias: true }, windows: "some" },
  qwen3: {
    architecture: "Qwen3ForCausalLM",
    shape: { queryKeyNorm: true },
    defaults: { headSize: 128 },
    biases: ["attention_bias"],
    windows: "some",
  },
  qwen3_moe: {
    architecture: "Qwen3MoeForCausalLM",
    shape: { queryKeyNorm: true },
    biases: ["attention_bias"],
    windows: "some",
    experts: "separate",
  },
  smollm3: {
    architecture: "SmolLM3ForCausalLM",
    defaults: { keyValueHeads: 4, tiedEmbeddings: true, rotaryBase: 2_000_000 },
    biases: ["attention_bias", "mlp_bias"],
    windows: "some",
    hasLayersWithoutPositions: true,
  },
  granite: {
    architecture: "GraniteForCausalLM",
    defaults: { keyValueHeads: "heads" },
    biases: ["attention_bias", "mlp_bias"],
    factors: "multipliers",
  },
  olmo2: {
    architecture: "Olmo2ForCausalLM",
    shape: { norms: "after", queryKeyNorm: true, wideQueryKeyNorm: true },
    defaults: { keyValueHeads: "heads", normEpsilon: 1e-5 },
    biases: ["attention_bias"],
    norms: {
      attention_after_norm: "post_attention_layernorm",
      feed_forward_after_norm: "post_feedforward_layernorm",
    },
  },
  phi3: {
    architecture: "Phi3ForCausalLM",
    defaults: { keyValueHeads: "heads", normEpsilon: 1e-5 },
    windows: "all",
    rotatesParts: true,
    isFused: true,
  },
  gemma3_text: {
    architecture: "Gemma3ForCausalLM",
    shape: { norms: "around", queryKeyNorm: true, activation: "gelu_tanh" },
    defaults: { keyValueHeads: 4, headSize: 256, tiedEmbeddings: true, rotaryBase: 1_000_000, window: 4096 },
    biases: ["attention_bias"],
    windows: 6,
    factors: "gemma",
    norms: {
      attention_norm: "input_layernorm",
      attention_after_norm: "post_attention_layernorm",
      feed_forward_norm: "pre_feedforward_layernorm",
      feed_forward_after_norm: "post_feedforward_layernorm",
    },
    normOffset: 1,
  },
  gpt_oss: {
    architecture: "GptOssForCausalLM",
    shape: { attentionSinks: true },
    defaults: {
      keyValueHeads: 8,
      headSize: 64,
      rotaryBase: 150_000,
      rotaryScaling: {
        type: "yarn",
        factor: 32,
        originalContextLength: 4096,
        betaFast: 32,
        betaSlow: 1,
        attentionFactor: 0.1 * Math.log(32) + 1,
        truncate: false,
      },
      normEpsilon: 1e-5,
      window: 128,
      attentionBias: true,
    },
    biases: ["attention_bias"],
    windows: "alternating",
    experts: "together",
  },
  qwen3_5_text: {
    architecture: "Qwen3_5ForCausalLM",
    shape: { queryKeyNorm: true, outputGate: true },
    defaults: { keyValueHeads: 4, headSize: 256, rotatedPart: 0.25 },
    biases: ["attention_bias"],
    rotatesParts: true,
    normOffset: 1,
    hasLinearAttention: true,
    others: /^(?:model\.visual|mtp)\./u,
    partOf: { architecture: "Qwen3_5ForConditionalGeneration", prefix: "model.language_model." },
  },
  qwen3_next: {
    architecture: "Qwen3NextForCausalLM",
    shape: { queryKeyNorm: true, outputGate: true },
    defaults: { keyValueHeads: 2, headSize: 256, rotatedPart: 0.25, expertSharesSumToOne: true },
    biases: ["attention_bias"],
    rotatesParts: true,
    normOffset: 1,
    hasLinearAttention: true,
    isLinearByHead: true,
    experts: "separate",
    hasSharedExpert: true,
    others: /^mtp\./u,
  },
  qwen3_5_moe_text: {
    architecture: "Qwen3_5MoeForCausalLM",
    shape: { queryKeyNorm: true, outputGate: true },
    defaults: { keyValueHeads: 2, headSize: 256, rotatedPart: 0.25, expertSharesSumToOne: true },
    biases: ["attention_bias"],
    rotatesParts: true,
    normOffset: 1,
    hasLinearAttention: true,
    experts: "separate",
    hasSharedExpert: true,
    others: /^(?:model\.visual|mtp)\./u,
    partOf: { architecture: "Qwen3_5MoeForConditionalGeneration", prefix: "model.language_model." },
  },
};

export function normNames(family: ModelFamily): Partial<Record<NormParameter, string>> {
  return families[family].norms ?? llamaNorms;
}
