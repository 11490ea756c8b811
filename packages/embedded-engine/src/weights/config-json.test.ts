import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fixtures } from "../../test/weight-files.js";
import { HeddleError } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import { rotaryFrequencies } from "../graph/rotary.js";
import { presets } from "../model/presets.js";
import { modelConfigJson, parseModelConfig } from "./config-json.js";
import type { JsonObject } from "@heddle/exact-json";

/** As published with Llama 3.2, Qwen2.5 and Qwen3 models. */
const llama = {
  architectures: ["LlamaForCausalLM"],
  attention_bias: false,
  head_dim: 64,
  hidden_act: "silu",
  hidden_size: 2048,
  intermediate_size: 8192,
  max_position_embeddings: 131072,
  mlp_bias: false,
  num_attention_heads: 32,
  num_hidden_layers: 16,
  num_key_value_heads: 8,
  pretraining_tp: 1,
  rms_norm_eps: 1e-5,
  rope_scaling: {
    factor: 32.0,
    high_freq_factor: 4.0,
    low_freq_factor: 1.0,
    original_max_position_embeddings: 8192,
    rope_type: "llama3",
  },
  rope_theta: 500000.0,
  tie_word_embeddings: true,
  vocab_size: 128256,
};
const qwen2 = {
  architectures: ["Qwen2ForCausalLM"],
  hidden_act: "silu",
  hidden_size: 896,
  intermediate_size: 4864,
  max_position_embeddings: 32768,
  max_window_layers: 21,
  model_type: "qwen2",
  num_attention_heads: 14,
  num_hidden_layers: 24,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000.0,
  sliding_window: 32768,
  tie_word_embeddings: true,
  use_sliding_window: false,
  vocab_size: 151936,
};
const qwen3 = {
  architectures: ["Qwen3ForCausalLM"],
  attention_bias: false,
  head_dim: 128,
  hidden_act: "silu",
  hidden_size: 1024,
  intermediate_size: 3072,
  max_position_embeddings: 40960,
  max_window_layers: 28,
  num_attention_heads: 16,
  num_hidden_layers: 28,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 1000000,
  sliding_window: null,
  tie_word_embeddings: true,
  use_sliding_window: false,
  vocab_size: 151936,
};

const mistral = {
  architectures: ["MistralForCausalLM"],
  head_dim: 128,
  hidden_act: "silu",
  hidden_size: 5120,
  intermediate_size: 14336,
  max_position_embeddings: 131072,
  model_type: "mistral",
  num_attention_heads: 32,
  num_hidden_layers: 40,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-5,
  rope_theta: 1000000.0,
  sliding_window: null,
  tie_word_embeddings: false,
  vocab_size: 131072,
};
const qwen3Moe = {
  ...qwen3,
  architectures: ["Qwen3MoeForCausalLM"],
  decoder_sparse_step: 1,
  mlp_only_layers: [],
  moe_intermediate_size: 768,
  norm_topk_prob: true,
  num_experts: 128,
  num_experts_per_tok: 8,
};
const smollm3 = {
  architectures: ["SmolLM3ForCausalLM"],
  hidden_act: "silu",
  hidden_size: 2048,
  intermediate_size: 11008,
  max_position_embeddings: 65536,
  model_type: "smollm3",
  num_attention_heads: 16,
  num_hidden_layers: 5,
  num_key_value_heads: 4,
  rope_theta: 5000000.0,
  vocab_size: 128256,
};
const granite = {
  architectures: ["GraniteForCausalLM"],
  attention_bias: false,
  attention_multiplier: 0.015625,
  embedding_multiplier: 12.0,
  hidden_act: "silu",
  hidden_size: 2048,
  intermediate_size: 8192,
  logits_scaling: 8.0,
  max_position_embeddings: 131072,
  model_type: "granite",
  num_attention_heads: 32,
  num_hidden_layers: 40,
  num_key_value_heads: 8,
  residual_multiplier: 0.22,
  rms_norm_eps: 1e-5,
  rope_theta: 10000000.0,
  tie_word_embeddings: true,
  vocab_size: 49155,
};
const olmo2 = {
  architectures: ["Olmo2ForCausalLM"],
  hidden_size: 2048,
  intermediate_size: 8192,
  max_position_embeddings: 4096,
  model_type: "olmo2",
  num_attention_heads: 16,
  num_hidden_layers: 16,
  num_key_value_heads: 16,
  rms_norm_eps: 1e-6,
  rope_theta: 500000,
  vocab_size: 100352,
};
const phi4 = {
  architectures: ["Phi3ForCausalLM"],
  hidden_act: "silu",
  hidden_size: 3072,
  intermediate_size: 8192,
  max_position_embeddings: 131072,
  model_type: "phi3",
  num_attention_heads: 24,
  num_hidden_layers: 32,
  num_key_value_heads: 8,
  original_max_position_embeddings: 4096,
  partial_rotary_factor: 0.75,
  rms_norm_eps: 1e-5,
  rope_scaling: {
    type: "longrope",
    long_factor: Array.from({ length: 48 }, (_, pair) => 1 + pair),
    short_factor: Array.from({ length: 48 }, (_, pair) => 1 + pair / 100),
  },
  rope_theta: 10000.0,
  sliding_window: 262144,
  tie_word_embeddings: true,
  vocab_size: 200064,
};
const gemma3 = {
  architectures: ["Gemma3ForCausalLM"],
  head_dim: 256,
  hidden_activation: "gelu_pytorch_tanh",
  hidden_size: 640,
  intermediate_size: 2048,
  max_position_embeddings: 32768,
  model_type: "gemma3_text",
  num_attention_heads: 4,
  num_hidden_layers: 7,
  num_key_value_heads: 1,
  query_pre_attn_scalar: 256,
  rms_norm_eps: 1e-6,
  rope_local_base_freq: 10000.0,
  rope_theta: 1000000.0,
  sliding_window: 512,
  sliding_window_pattern: 6,
  vocab_size: 262144,
};
const gptOss = {
  architectures: ["GptOssForCausalLM"],
  attention_bias: true,
  experts_per_token: 4,
  head_dim: 64,
  hidden_act: "silu",
  hidden_size: 2880,
  initial_context_length: 4096,
  intermediate_size: 2880,
  layer_types: ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
  max_position_embeddings: 131072,
  model_type: "gpt_oss",
  num_attention_heads: 64,
  num_experts_per_tok: 4,
  num_hidden_layers: 4,
  num_key_value_heads: 8,
  num_local_experts: 32,
  quantization_config: { modules_to_not_convert: ["lm_head"], quant_method: "mxfp4" },
  rms_norm_eps: 1e-5,
  rope_scaling: {
    beta_fast: 32.0,
    beta_slow: 1.0,
    factor: 32.0,
    original_max_position_embeddings: 4096,
    rope_type: "yarn",
    truncate: false,
  },
  rope_theta: 150000,
  sliding_window: 128,
  swiglu_limit: 7.0,
  vocab_size: 201088,
};
const qwen35 = {
  architectures: ["Qwen3_5ForCausalLM"],
  attn_output_gate: true,
  full_attention_interval: 4,
  head_dim: 256,
  hidden_act: "silu",
  hidden_size: 1024,
  intermediate_size: 3584,
  linear_conv_kernel_dim: 4,
  linear_key_head_dim: 128,
  linear_num_key_heads: 16,
  linear_num_value_heads: 16,
  linear_value_head_dim: 128,
  max_position_embeddings: 262144,
  model_type: "qwen3_5_text",
  num_attention_heads: 8,
  num_hidden_layers: 8,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_parameters: {
    mrope_interleaved: true,
    mrope_section: [11, 11, 10],
    partial_rotary_factor: 0.25,
    rope_theta: 10000000,
    rope_type: "default",
  },
  tie_word_embeddings: true,
  vocab_size: 248320,
};
const qwen3Next = {
  architectures: ["Qwen3NextForCausalLM"],
  attention_bias: false,
  decoder_sparse_step: 1,
  full_attention_interval: 4,
  head_dim: 256,
  hidden_act: "silu",
  hidden_size: 2048,
  intermediate_size: 5120,
  linear_conv_kernel_dim: 4,
  linear_key_head_dim: 128,
  linear_num_key_heads: 16,
  linear_num_value_heads: 32,
  linear_value_head_dim: 128,
  max_position_embeddings: 262144,
  mlp_only_layers: [],
  model_type: "qwen3_next",
  moe_intermediate_size: 512,
  norm_topk_prob: true,
  num_attention_heads: 16,
  num_experts: 512,
  num_experts_per_tok: 10,
  num_hidden_layers: 8,
  num_key_value_heads: 2,
  partial_rotary_factor: 0.25,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 10000000,
  shared_expert_intermediate_size: 512,
  tie_word_embeddings: false,
  vocab_size: 151936,
};
const qwen35Moe = {
  architectures: ["Qwen3_5MoeForConditionalGeneration"],
  model_type: "qwen3_5_moe",
  text_config: {
    attention_bias: false,
    attn_output_gate: true,
    full_attention_interval: 4,
    head_dim: 256,
    hidden_act: "silu",
    hidden_size: 2048,
    linear_conv_kernel_dim: 4,
    linear_key_head_dim: 128,
    linear_num_key_heads: 16,
    linear_num_value_heads: 32,
    linear_value_head_dim: 128,
    max_position_embeddings: 262144,
    mlp_only_layers: [],
    model_type: "qwen3_5_moe_text",
    moe_intermediate_size: 512,
    mtp_num_hidden_layers: 1,
    num_attention_heads: 16,
    num_experts: 256,
    num_experts_per_tok: 8,
    num_hidden_layers: 8,
    num_key_value_heads: 2,
    rms_norm_eps: 1e-6,
    rope_parameters: qwen35.rope_parameters,
    router_aux_loss_coef: 0.001,
    shared_expert_intermediate_size: 512,
    vocab_size: 248320,
  },
  tie_word_embeddings: false,
};
const yarn = { type: "yarn", factor: 4.0, original_max_position_embeddings: 32768 };

test("published configurations of the families are read", () => {
  expect(parseModelConfig(llama)).toEqual({
    family: "llama",
    vocabularySize: 128256,
    hiddenSize: 2048,
    layers: 16,
    heads: 32,
    keyValueHeads: 8,
    headSize: 64,
    feedForwardSize: 8192,
    contextLength: 131072,
    normEpsilon: 1e-5,
    rotaryBase: 500000,
    rotaryScaling: {
      type: "llama3",
      factor: 32,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalContextLength: 8192,
    },
    tiedEmbeddings: true,
    queryKeyNorm: false,
    attentionBias: false,
  } satisfies ModelConfig);
  expect(parseModelConfig(qwen2)).toMatchObject({
    family: "qwen2",
    headSize: 64,
    attentionBias: true,
    queryKeyNorm: false,
  });
  expect(parseModelConfig(qwen3)).toMatchObject({
    family: "qwen3",
    headSize: 128,
    attentionBias: false,
    queryKeyNorm: true,
  });
  expect(parseModelConfig(mistral)).toMatchObject({
    family: "mistral",
    headSize: 128,
    keyValueHeads: 8,
    attentionBias: false,
    queryKeyNorm: false,
  });
});

test("gpt-oss is read as it is published, and has the same defaults", () => {
  const read = parseModelConfig(gptOss);
  expect(read).toMatchObject({
    attentionBias: true,
    outputBias: true,
    attentionSinks: true,
    experts: { count: 32, perToken: 4, sharesSumToOne: true, hasBiases: true },
    limitedGate: { limit: 7, slope: 1.702 },
    layerKinds: [{ window: 128 }, {}, { window: 128 }, {}],
    feedForwardSize: 2880,
  });
  const absent =
    "attention_bias head_dim layer_types quantization_config rms_norm_eps rope_scaling rope_theta sliding_window";
  const names = new Set([...absent.split(" "), "swiglu_limit", "num_key_value_heads"]);
  const least = Object.fromEntries(Object.entries(gptOss).filter(([name]) => !names.has(name)));
  expect(parseModelConfig(least)).toEqual(read);
});

test("Qwen3.5 is read alone and as a part of a model that reads images", () => {
  const read = parseModelConfig(qwen35);
  const linear = { linear: true };
  expect(read).toMatchObject({
    linearAttention: { keyHeads: 16, valueHeads: 16, keySize: 128, valueSize: 128, kernel: 4 },
    layerKinds: [linear, linear, linear, {}, linear, linear, linear, {}],
    outputGate: true,
    rotarySize: 64,
  });
  const { architectures: _, ...text } = qwen35;
  const types = ["linear_attention", "linear_attention", "linear_attention", "full_attention"];
  const whole = { architectures: ["Qwen3_5ForConditionalGeneration"], model_type: "qwen3_5", image_token_id: 1 };
  expect(parseModelConfig({ ...whole, text_config: text })).toEqual(read);
  const { tie_word_embeddings: tied, ...untied } = text;
  expect(parseModelConfig({ ...whole, tie_word_embeddings: tied, text_config: untied })).toEqual(read);
  const quantized = { ...whole, text_config: text, quantization_config: { quant_method: "fp8" } };
  expect(() => parseModelConfig(quantized)).toThrow(/quantization_config is set \("fp8"\)/);
  expect(parseModelConfig({ ...qwen35, layer_types: [...types, ...types] })).toEqual(read);
});

test("biases are read where the family has them", () => {
  expect(parseModelConfig({ ...llama, attention_bias: true, mlp_bias: true })).toMatchObject({
    attentionBias: true,
    outputBias: true,
    feedForwardBias: true,
  });
  expect(parseModelConfig({ ...qwen3, attention_bias: true })).toMatchObject({ attentionBias: true, outputBias: true });
  expect(parseModelConfig(qwen2).outputBias).toBeUndefined();
});

test("YaRN is read with the defaults of its paper, and its scale of attention in each form", () => {
  const scalingOf = (change: JsonObject) =>
    parseModelConfig({ ...qwen2, rope_scaling: { ...yarn, ...change } }).rotaryScaling;
  const read = scalingOf({});
  expect(read).toEqual({
    type: "yarn",
    factor: 4,
    originalContextLength: 32768,
    betaFast: 32,
    betaSlow: 1,
    attentionFactor: 0.1 * Math.log(4) + 1,
    truncate: true,
  });
  expect(scalingOf({ attention_factor: 1.5, beta_fast: 8, truncate: false })).toMatchObject({
    attentionFactor: 1.5,
    betaFast: 8,
    truncate: false,
  });
  expect(scalingOf({ mscale: 1, mscale_all_dim: 1 })).toMatchObject({ attentionFactor: 1 });
});

test("the frequencies of YaRN are kept at first, then divided, with a ramp between", () => {
  const config = parseModelConfig({ ...qwen2, rope_scaling: yarn });
  const { rotaryScaling: _, ...unscaled } = config;
  const ratios = rotaryFrequencies(unscaled).map((frequency, pair) => frequency / rotaryFrequencies(config)[pair]!);
  // Worked out by hand: 32 turns in 32,768 tokens are at pair 11.78, one turn at 19.83.
  expect(ratios.slice(0, 12).every((ratio) => Math.abs(ratio - 1) < 1e-12)).toBe(true);
  expect(ratios[11]).toBeCloseTo(1, 12);
  expect(ratios[14]).toBeCloseTo(1 / (1 - (3 / 9) * 0.75), 9);
  expect(ratios.slice(20).every((ratio) => Math.abs(ratio - 4) < 1e-9)).toBe(true);
});

test("absent fields have the defaults of transformers", () => {
  const { rope_theta: _theta, rope_scaling: _scaling, head_dim: _head, tie_word_embeddings: _tie, ...rest } = llama;
  const { num_key_value_heads: _kv, rms_norm_eps: _eps, architectures: _names, ...bare } = rest;
  expect(parseModelConfig({ ...bare, model_type: "llama" })).toMatchObject({
    rotaryBase: 10000,
    headSize: 64,
    tiedEmbeddings: false,
    keyValueHeads: 32,
    normEpsilon: 1e-6,
  });
  expect(parseModelConfig({ ...qwen3, head_dim: undefined }).headSize).toBe(128);
});

test("the old and the new form of rotary settings are equivalent", async () => {
  const read = async (name: string) =>
    parseModelConfig(JSON.parse(await readFile(join(fixtures, "models", name, "config.json"), "utf8")));
  expect(await read("llama-rotary-llama3")).toEqual(await read("llama-rotary-old-spelling"));
  const old = { ...qwen3, rope_scaling: { type: "linear", factor: 2 } };
  const { rope_theta, rope_scaling: _, ...rest } = qwen3;
  const now = { ...rest, rope_parameters: { rope_type: "linear", factor: 2, rope_theta } };
  expect(parseModelConfig(now)).toEqual(parseModelConfig(old));
  expect(parseModelConfig(now).rotaryScaling).toEqual({ type: "linear", factor: 2 });
});

const refused: [base: JsonObject, change: JsonObject, code: string, field: string, message: RegExp][] = [
  [llama, { architectures: ["GemmaForCausalLM"] }, "unsupported", "architectures", /LlamaForCausalLM, Mistral/],
  [mistral, { sliding_window: 0 }, "invalid", "sliding_window", /integer/],
  [mistral, { attention_bias: true }, "unsupported", "attention_bias", /of llama, qwen3, qwen3_moe, smollm3/],
  [llama, { architectures: undefined, model_type: "gemma" }, "unsupported", "model_type", /"gemma"/],
  [llama, { architectures: undefined }, "unsupported", "model_type", /nothing/],
  [llama, { hidden_act: "gelu" }, "unsupported", "hidden_act", /"gelu"/],
  [qwen2, { attention_bias: true }, "unsupported", "attention_bias", /of llama, qwen3, qwen3_moe, smollm3/],
  [qwen3, { mlp_bias: true }, "unsupported", "mlp_bias", /of llama, smollm3, granite only/],
  [llama, { partial_rotary_factor: 0.5 }, "unsupported", "partial_rotary_factor", /whole heads/],
  [llama, { rope_parameters: { partial_rotary_factor: 0.5 } }, "unsupported", "partial_rotary_factor", /whole heads/],
  [llama, { quantization_config: { bits: 4 } }, "unsupported", "quantization_config", /F32, F16 and BF16/],
  [
    llama,
    { quantization_config: { quant_method: "mxfp4" } },
    "unsupported",
    "quantization_config",
    /experts of gpt_oss/,
  ],
  [gptOss, { quantization_config: { quant_method: "fp8" } }, "unsupported", "quantization_config", /"fp8"/],
  [gptOss, { num_experts_per_tok: 33 }, "invalid", "num_experts_per_tok", /1 to 32/],
  [qwen35, { linear_num_key_heads: 3 }, "invalid", "linear_num_key_heads", /does not divide the 16 heads/],
  [qwen35, { layer_types: Array(8).fill("linear_attention") }, "unsupported", "layer_types", /full_attention too/],
  [qwen35, { layer_types: Array(8).fill("sliding_attention") }, "unsupported", "layer_types", /"sliding_attention"/],
  [qwen35, { attn_output_gate: false }, "unsupported", "attn_output_gate", /gates/],
  [qwen3Next, { shared_expert_intermediate_size: 0 }, "invalid", "shared_expert_intermediate_size", /an integer/],
  [qwen3Next, { mlp_only_layers: [0] }, "unsupported", "mlp_only_layers", /experts in every layer/],
  [qwen3Next, { rope_scaling: { type: "su" } }, "invalid", "short_factor", /32 numbers/],
  [gptOss, { swiglu_limit: 0 }, "invalid", "swiglu_limit", /above zero/],
  [llama, { num_local_experts: 8 }, "unsupported", "num_local_experts", /experts/],
  [qwen2, { use_sliding_window: true, sliding_window: "x" }, "invalid", "sliding_window", /integer/],
  [qwen2, { layer_types: ["full_attention"] }, "invalid", "layer_types", /names 1 layers; the model has 24/],
  [qwen3, { layer_types: Array(28).fill("sliding_attention") }, "invalid", "sliding_window", /missing/],
  [smollm3, { no_rope_layers: [1, 0] }, "invalid", "no_rope_layers", /each of 5 layers/],
  [smollm3, { no_rope_layers: "all" }, "invalid", "no_rope_layers", /each of 5 layers/],
  [qwen3Moe, { num_experts: undefined }, "invalid", "num_experts", /missing/],
  [qwen3Moe, { num_local_experts: 64 }, "invalid", "num_local_experts", /64; num_experts is 128/],
  [qwen3Moe, { num_experts_per_tok: 129 }, "invalid", "num_experts_per_tok", /from 1 to 128/],
  [qwen3Moe, { mlp_only_layers: [3] }, "unsupported", "mlp_only_layers", /experts in every layer/],
  [qwen3Moe, { decoder_sparse_step: 2 }, "unsupported", "decoder_sparse_step", /experts in every layer/],
  [qwen3Moe, { moe_intermediate_size: undefined }, "invalid", "moe_intermediate_size", /missing/],
  [granite, { logits_scaling: 0 }, "invalid", "logits_scaling", /above zero/],
  [gemma3, { final_logit_softcapping: 30 }, "unsupported", "final_logit_softcapping", /caps no logits/],
  [gemma3, { use_bidirectional_attention: true }, "unsupported", "use_bidirectional_attention", /read forward/],
  [gemma3, { hidden_activation: "silu" }, "unsupported", "hidden_activation", /gelu_pytorch_tanh/],
  [gemma3, { rope_local_base_freq: 0 }, "invalid", "rope_local_base_freq", /above zero/],
  [phi4, { partial_rotary_factor: 0.01 }, "invalid", "partial_rotary_factor", /no even part/],
  [phi4, { rope_scaling: { type: "longrope", short_factor: [1] } }, "invalid", "short_factor", /48 numbers/],
  [qwen2, { layer_types: ["full_attention", "linear_attention"] }, "unsupported", "layer_types", /linear_attention/],
  [llama, { rope_scaling: { rope_type: "yarn" } }, "invalid", "factor", /missing/],
  [llama, { rope_scaling: yarn, rope_theta: 1 }, "invalid", "rope_theta", /not above 1/],
  [llama, { rope_scaling: { type: "dynamic", factor: 4 } }, "unsupported", "rope_type", /"dynamic"/],
  [llama, { head_dim: 63 }, "unsupported", "head_dim", /even/],
  [llama, { head_dim: undefined, hidden_size: 2050 }, "invalid", "head_dim", /64.0625/],
  [llama, { num_key_value_heads: 7 }, "invalid", "num_key_value_heads", /does not divide/],
  [llama, { num_key_value_heads: 64 }, "invalid", "num_key_value_heads", /from 1 to 32/],
  [qwen2, { num_key_value_heads: undefined }, "invalid", "num_key_value_heads", /missing/],
  [llama, { hidden_size: undefined }, "invalid", "hidden_size", /missing/],
  [llama, { hidden_size: 0 }, "invalid", "hidden_size", /an integer/],
  [llama, { hidden_size: 1e300 }, "invalid", "hidden_size", /an integer/],
  [llama, { vocab_size: "32000" }, "invalid", "vocab_size", /"32000"/],
  [llama, { num_hidden_layers: 1e6 }, "invalid", "num_hidden_layers", /from 1 to 1024/],
  [llama, { rms_norm_eps: -1 }, "invalid", "rms_norm_eps", /above zero/],
  [llama, { tie_word_embeddings: "yes" }, "invalid", "tie_word_embeddings", /true or false/],
  [llama, { rope_scaling: [] }, "invalid", "rope_scaling", /not an object/],
  [llama, { rope_scaling: { rope_type: "linear" } }, "invalid", "factor", /missing/],
  [llama, { rope_parameters: { rope_theta: 10000 } }, "invalid", "rope_theta", /differs/],
  [qwen3, { rope_scaling: { type: "linear", factor: 2 }, rope_parameters: {} }, "invalid", "rope_scaling", /differ/],
];

test.each(refused)("unsupported configurations are refused: %#", (base, change, code, field, message) => {
  const read = () => parseModelConfig({ ...base, ...change });
  expect(read).toThrow(HeddleError);
  expect(read).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  expect(read).toThrow(
    expect.objectContaining({
      details: {
        file: "config.json",
        field: expect.stringMatching(new RegExp(`(^|\\.)${field}$`)),
      },
    }),
  );
});

test("the windows of layers are those that the fields name, and no limit of the context", () => {
  const windowsOf = (config: JsonObject) => {
    const { layerKinds, layers, contextLength } = parseModelConfig(config);
    expect(contextLength).toBe(config["max_position_embeddings"]);
    return layerKinds && Array.from({ length: layers }, (_, layer) => layerKinds[layer]!.window ?? 0);
  };
  const windowed = { ...qwen2, use_sliding_window: true, sliding_window: 4096 };
  expect(windowsOf(windowed)).toEqual([...Array(21).fill(0), 4096, 4096, 4096]);
  expect(windowsOf({ ...windowed, use_sliding_window: false })).toBeUndefined();
  expect(windowsOf({ ...windowed, max_window_layers: 24 })).toBeUndefined();
  expect(windowsOf({ ...windowed, sliding_window: 65536 })).toBeUndefined();
  const types = Array.from({ length: 28 }, (_, layer) => (layer === 1 ? "sliding_attention" : "full_attention"));
  expect(windowsOf({ ...qwen3, layer_types: types, sliding_window: 9 })).toEqual([0, 9, ...Array(26).fill(0)]);
  expect(windowsOf({ ...qwen3, layer_types: Array(28).fill("full_attention"), sliding_window: 9 })).toBeUndefined();
  expect(windowsOf({ ...mistral, sliding_window: 4096 })).toEqual(Array(40).fill(4096));
  expect(windowsOf(mistral)).toBeUndefined();
  // Absent, the first models of the family have one of 4,096 tokens.
  const { sliding_window: _, ...first } = mistral;
  expect(windowsOf(first)).toEqual(Array(40).fill(4096));
});

test("layers without positions are every fourth one of SmolLM3, or those that are named", () => {
  const kindsOf = (change: JsonObject) => parseModelConfig({ ...smollm3, ...change }).layerKinds;
  const [none, rotated] = [{ rotary: "none" }, {}];
  expect(kindsOf({})).toEqual([rotated, rotated, rotated, none, rotated]);
  expect(kindsOf({ no_rope_layers: [1, 0, 1, 1, 1] })).toEqual([rotated, none, rotated, rotated, rotated]);
  expect(kindsOf({ no_rope_layers: [1, 1, 1, 1, 1] })).toBeUndefined();
  expect(kindsOf({ use_sliding_window: true, sliding_window: 8 })?.[3]).toEqual({ rotary: "none", window: 8 });
});

test("Gemma 3 is read in its old and its new form", () => {
  const read = parseModelConfig(gemma3);
  expect(read).toMatchObject({
    norms: "around",
    activation: "gelu_tanh",
    tiedEmbeddings: true,
    rotaryBase: 1_000_000,
    localRotaryBase: 10_000,
    embeddingScale: Math.sqrt(640),
  });
  expect(read.attentionScale).toBeUndefined();
  const local = { rotary: "local", window: 512 };
  expect(read.layerKinds).toEqual([local, local, local, local, local, {}, local]);
  const { rope_theta: _base, rope_local_base_freq: _local, sliding_window_pattern: _pattern, ...rest } = gemma3;
  const now = {
    ...rest,
    layer_types: read.layerKinds!.map(({ window }) => (window ? "sliding_attention" : "full_attention")),
    rope_parameters: {
      full_attention: { rope_type: "default", rope_theta: 1000000 },
      sliding_attention: { rope_type: "default", rope_theta: 10000 },
    },
  };
  expect(parseModelConfig(now)).toEqual(read);
});

test("Qwen3-Next is linear attention in three of four layers, and a shared expert beside the others", () => {
  const read = parseModelConfig(qwen3Next);
  const linear = { linear: true };
  expect(read).toMatchObject({
    feedForwardSize: 512,
    rotarySize: 64,
    outputGate: true,
    experts: { count: 512, perToken: 10, sharesSumToOne: true, sharedWidth: 512 },
    layerKinds: [linear, linear, linear, {}, linear, linear, linear, {}],
  });
  const { norm_topk_prob: _, partial_rotary_factor: __, full_attention_interval: ___, ...rest } = qwen3Next;
  expect(parseModelConfig(rest)).toEqual(read);
});

test("Qwen3.5 MoE has the experts of Qwen3-Next, whose shares always sum to one", () => {
  const { experts, linearAttention } = parseModelConfig(qwen3Next);
  expect(parseModelConfig(qwen35Moe)).toMatchObject({
    family: "qwen3_5_moe_text",
    feedForwardSize: 512,
    rotarySize: 64,
    outputGate: true,
    tiedEmbeddings: false,
    experts: { ...experts, count: 256, perToken: 8 },
    linearAttention,
  });
});

test("LongRoPE has divisors up to the original context, and others beyond it", () => {
  expect(parseModelConfig(phi4)).toMatchObject({
    contextLength: 131072,
    rotarySize: 96,
    rotaryScaling: {
      divisors: phi4.rope_scaling.short_factor,
      longDivisors: phi4.rope_scaling.long_factor,
      originalContextLength: 4096,
      attentionFactor: Math.sqrt(1 + Math.log(32) / Math.log(4096)),
    },
  });
  expect(parseModelConfig({ ...phi4, rope_scaling: { ...phi4.rope_scaling, type: "su" } })).toEqual(
    parseModelConfig(phi4),
  );
});

test("a written configuration is read unchanged", () => {
  const biased = [
    { ...llama, attention_bias: true, mlp_bias: true },
    { ...qwen3, attention_bias: true, rope_scaling: yarn },
  ];
  const shapes = [
    ...presets.values(),
    ...[llama, qwen2, qwen3, mistral, ...biased].map((json) => parseModelConfig(json)),
    ...[qwen3Moe, smollm3, granite, olmo2, phi4, gemma3, gptOss, qwen35, qwen3Next, qwen35Moe].map((json) =>
      parseModelConfig(json),
    ),
    ...[
      { ...mistral, sliding_window: 4096 },
      { ...qwen2, use_sliding_window: true, sliding_window: 4096 },
      { ...smollm3, use_sliding_window: true, sliding_window: 8 },
    ].map((json) => parseModelConfig(json)),
  ];
  for (const shape of shapes) expect(parseModelConfig(modelConfigJson(shape))).toEqual(shape);
});

test("any value in any field gives a configuration or a HeddleError", () => {
  const fields = fc.constantFrom(
    ...Object.keys({
      ...llama,
      ...qwen2,
      ...qwen3,
      ...qwen3Moe,
      ...smollm3,
      ...granite,
      ...phi4,
      ...gemma3,
      ...gptOss,
      ...qwen35,
      ...qwen3Next,
    }),
    "rope_parameters",
    "layer_types",
    "no_rope_layers",
    "no_rope_layer_interval",
  );
  fc.assert(
    fc.property(
      fc.constantFrom<JsonObject>(
        llama,
        qwen2,
        qwen3,
        mistral,
        qwen3Moe,
        smollm3,
        granite,
        olmo2,
        phi4,
        gemma3,
        gptOss,
        qwen35,
        qwen3Next,
      ),
      fields,
      fc.jsonValue(),
      (base, field, value) => {
        try {
          parseModelConfig({ ...base, [field]: value });
        } catch (error) {
          expect(error).toBeInstanceOf(HeddleError);
        }
      },
    ),
    { numRuns: 500 },
  );
});
