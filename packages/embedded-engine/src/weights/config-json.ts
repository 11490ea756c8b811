import type { ModelConfig, ModelFamily } from "../model/config.js";
import type { ConfigFields } from "./config-fields.js";
import { configFields, formatValue } from "./config-fields.js";
import { layerFields, readLayerKinds } from "./config-layers.js";
import { maxContext, readRotary, rotaryJson } from "./config-rotary.js";
import { families } from "./families.js";
import type { JsonObject } from "@heddle/exact-json";
import { isJsonObject } from "@heddle/exact-json";

const maxWidth = 2 ** 17;
const maxVocabulary = 2 ** 22;

/**
 * Reads the `config.json` of a Hugging Face directory. Defaults of absent fields are those of `transformers`.
 *
 * @throws HeddleError naming the field: `invalid` for a wrong value, `unsupported` for a computation that the engine does not
 *   have (other activations, further biases, quantised weights…).
 */
export function parseModelConfig(json: JsonObject): ModelConfig {
  const whole = configFields(json, "config.json");
  const family = readFamily(whole);
  const fields = isPart(whole, family) ? textFields(json) : whole;
  const { shape, defaults = {} } = families[family];
  refuseUnsupportedComputation(fields, family);
  const attentionBias = readBias(fields, "attention_bias", family);
  const feedForwardBias = readBias(fields, "mlp_bias", family);
  const hiddenSize = fields.count("hidden_size", maxWidth);
  const heads = fields.count("num_attention_heads", 4096);
  const keyValueDefault = defaults.keyValueHeads === "heads" ? heads : defaults.keyValueHeads;
  const keyValueHeads = fields.count("num_key_value_heads", heads, keyValueDefault);
  if (heads % keyValueHeads) {
    throw fields.invalid(
      "num_key_value_heads",
      `is ${keyValueHeads}, which does not divide the ${heads} attention heads`,
    );
  }
  const headSize = fields.count("head_dim", maxWidth, defaults.headSize ?? hiddenSize / heads);
  if (headSize % 2) throw fields.unsupported("head_dim", `is ${headSize}; rotary positions need an even one`);
  const layers = fields.count("num_hidden_layers", 1024);
  const contextLength = fields.count("max_position_embeddings", maxContext);
  const rotary = readRotary(fields, family, { contextLength, headSize });
  return {
    family,
    vocabularySize: fields.count("vocab_size", maxVocabulary),
    hiddenSize,
    layers,
    heads,
    keyValueHeads,
    headSize,
    feedForwardSize: fields.count(
      families[family].experts === "separate" ? "moe_intermediate_size" : "intermediate_size",
      2 ** 20,
    ),
    contextLength,
    normEpsilon: fields.positive("rms_norm_eps", defaults.normEpsilon ?? 1e-6),
    ...rotary,
    tiedEmbeddings: fields.flag("tie_word_embeddings", defaults.tiedEmbeddings ?? false),
    queryKeyNorm: false,
    attentionBias,
    ...(attentionBias && { outputBias: true }),
    ...(feedForwardBias && { feedForwardBias: true }),
    ...readLayerKinds(fields, family, { layers, contextLength }),
    ...readExperts(fields, family, layers),
    ...readLinearAttention(fields, family),
    ...readLimitedGate(fields, family),
    ...readFactors(fields, family, { hiddenSize, headSize }),
    ...shape,
  };
}

/** The fields of a part, and those of the whole that hold for it. */
function textFields(json: JsonObject): ConfigFields {
  const { text_config: text, tie_word_embeddings, quantization_config } = json;
  const common = { tie_word_embeddings, quantization_config };
  return configFields({ ...common, ...(isJsonObject(text) && text) }, "config.json", "text_config");
}

/** Whether a model is one of a family with other parts, such as one that reads images. */
function isPart(fields: ConfigFields, family: ModelFamily): boolean {
  const { partOf } = families[family];
  return partOf !== undefined && firstArchitecture(fields) === partOf.architecture;
}

function readLinearAttention(fields: ConfigFields, family: ModelFamily): Pick<ModelConfig, "linearAttention"> {
  if (!families[family].hasLinearAttention) return {};
  if (!fields.flag("attn_output_gate", true)) {
    throw fields.unsupported("attn_output_gate", "is false; the engine computes attention with gates");
  }
  const linearAttention = {
    keyHeads: fields.count("linear_num_key_heads", 4096, 16),
    valueHeads: fields.count("linear_num_value_heads", 4096, 32),
    keySize: fields.count("linear_key_head_dim", maxWidth, 128),
    valueSize: fields.count("linear_value_head_dim", maxWidth, 128),
    kernel: fields.count("linear_conv_kernel_dim", 64, 4),
  };
  const { keyHeads, valueHeads, kernel } = linearAttention;
  if (valueHeads % keyHeads) {
    const what = `is ${keyHeads}, which does not divide the ${valueHeads} heads of values`;
    throw fields.invalid("linear_num_key_heads", what);
  }
  if (kernel < 2) throw fields.unsupported("linear_conv_kernel_dim", "is 1; the engine computes 2 and more");
  return { linearAttention };
}

function readExperts(fields: ConfigFields, family: ModelFamily, layers: number): Pick<ModelConfig, "experts"> {
  const { experts } = families[family];
  if (experts === undefined) return {};
  // transformers has another name for it since version 5.
  const [name, ...more] = expertCounts.filter((each) => fields.value(each) !== undefined);
  const count = fields.count(name ?? "num_experts", 4096);
  const other = more.find((each) => fields.value(each) !== count);
  if (other !== undefined) throw fields.invalid(other, `is ${formatValue(fields.value(other))}; ${name} is ${count}`);
  const perToken = fields.count("num_experts_per_tok", count);
  if (experts === "together") return { experts: { count, perToken, sharesSumToOne: true, hasBiases: true } };
  const shared = families[family].hasSharedExpert && {
    sharedWidth: fields.count("shared_expert_intermediate_size", 2 ** 20, 512),
  };
  const dense = fields.value("mlp_only_layers");
  const hasDense = Array.isArray(dense) && dense.some((layer) => Number(layer) >= 0 && Number(layer) < layers);
  if (hasDense || fields.count("decoder_sparse_step", 2 ** 20, 1) !== 1) {
    const field = hasDense ? "mlp_only_layers" : "decoder_sparse_step";
    throw fields.unsupported(field, `is ${formatValue(fields.value(field))}; the engine has experts in every layer`);
  }
  const sumToOne = fields.flag("norm_topk_prob", families[family].defaults?.expertSharesSumToOne ?? false);
  return { experts: { count, perToken, sharesSumToOne: sumToOne, ...shared } };
}

const expertCounts = ["num_experts", "num_local_experts"];

function readLimitedGate(fields: ConfigFields, family: ModelFamily): Pick<ModelConfig, "limitedGate"> {
  if (families[family].experts !== "together") return {};
  return { limitedGate: { limit: fields.positive("swiglu_limit", 7), slope: fields.positive("swiglu_alpha", 1.702) } };
}

/** Reads the factors of embeddings, scores, blocks and logits that are not as in Llama. */
function readFactors(
  fields: ConfigFields,
  family: ModelFamily,
  { hiddenSize, headSize }: { hiddenSize: number; headSize: number },
): Partial<ModelConfig> {
  const { factors } = families[family];
  if (factors === undefined) return {};
  const usual: Partial<ModelConfig> = { attentionScale: 1 / Math.sqrt(headSize) };
  const read: Partial<ModelConfig> =
    factors === "multipliers"
      ? {
          embeddingScale: fields.positive("embedding_multiplier", 1),
          attentionScale: fields.positive("attention_multiplier", 1),
          residualScale: fields.positive("residual_multiplier", 1),
          logitScale: 1 / fields.positive("logits_scaling", 1),
        }
      : {
          embeddingScale: Math.sqrt(hiddenSize),
          attentionScale: fields.positive("query_pre_attn_scalar", 256) ** -0.5,
        };
  const other = Object.entries(read).filter(([name, value]) => value !== (usual[name as keyof ModelConfig] ?? 1));
  return Object.fromEntries(other);
}

/** Returns the `config.json` of a model in a form that old and new versions of `transformers` and vLLM read. */
export function modelConfigJson(config: ModelConfig): JsonObject {
  const { rotaryScaling: scaling } = config;
  return {
    architectures: [families[config.family].architecture],
    model_type: config.family,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headSize,
    intermediate_size: config.feedForwardSize,
    [config.activation ? "hidden_activation" : "hidden_act"]: config.activation ? "gelu_pytorch_tanh" : "silu",
    max_position_embeddings: config.contextLength,
    rms_norm_eps: config.normEpsilon,
    rope_theta: config.rotaryBase,
    rope_scaling: rotaryJson(scaling, config.family),
    ...(scaling?.type === "longrope" && { original_max_position_embeddings: scaling.originalContextLength }),
    ...rotatedPart(config),
    ...(config.localRotaryBase !== undefined && { rope_local_base_freq: config.localRotaryBase }),
    tie_word_embeddings: config.tiedEmbeddings,
    attention_dropout: 0,
    ...biasFields(config),
    ...expertFields(config),
    ...linearFields(config),
    ...layerFields(config),
    ...factorFields(config),
  };
}

function rotatedPart({ family, rotarySize, headSize }: ModelConfig): JsonObject {
  if (rotarySize !== undefined) return { partial_rotary_factor: rotarySize / headSize };
  return families[family].defaults?.rotatedPart === undefined ? {} : { partial_rotary_factor: 1 };
}

function biasFields({ family, outputBias = false, feedForwardBias = false }: ModelConfig): JsonObject {
  const values = { attention_bias: outputBias, mlp_bias: feedForwardBias };
  return Object.fromEntries((families[family].biases ?? []).map((name) => [name, values[name]]));
}

function linearFields({ linearAttention }: ModelConfig): JsonObject {
  if (!linearAttention) return {};
  const { keyHeads, valueHeads, keySize, valueSize, kernel } = linearAttention;
  return {
    linear_num_key_heads: keyHeads,
    linear_num_value_heads: valueHeads,
    linear_key_head_dim: keySize,
    linear_value_head_dim: valueSize,
    linear_conv_kernel_dim: kernel,
  };
}

function expertFields({ experts, feedForwardSize, limitedGate }: ModelConfig): JsonObject {
  if (!experts) return {};
  if (limitedGate) {
    return {
      num_local_experts: experts.count,
      num_experts_per_tok: experts.perToken,
      swiglu_limit: limitedGate.limit,
      swiglu_alpha: limitedGate.slope,
    };
  }
  return {
    moe_intermediate_size: feedForwardSize,
    num_experts: experts.count,
    num_experts_per_tok: experts.perToken,
    norm_topk_prob: experts.sharesSumToOne,
    ...(experts.sharedWidth !== undefined && { shared_expert_intermediate_size: experts.sharedWidth }),
    decoder_sparse_step: 1,
    mlp_only_layers: [],
  };
}

function factorFields(config: ModelConfig): JsonObject {
  const { factors } = families[config.family];
  if (factors === undefined) return {};
  const attentionScale = config.attentionScale ?? 1 / Math.sqrt(config.headSize);
  if (factors === "gemma") return { query_pre_attn_scalar: 1 / attentionScale ** 2 };
  return {
    embedding_multiplier: config.embeddingScale ?? 1,
    attention_multiplier: attentionScale,
    residual_multiplier: config.residualScale ?? 1,
    logits_scaling: 1 / (config.logitScale ?? 1),
  };
}

/** Reads a flag for biases, which only some families have. */
function readBias(fields: ConfigFields, name: "attention_bias" | "mlp_bias", family: ModelFamily): boolean {
  const isSet = fields.flag(name, name === "attention_bias" && (families[family].defaults?.attentionBias ?? false));
  if (isSet && !families[family].biases?.includes(name)) {
    const having = Object.entries(families).filter(([, { biases }]) => biases?.includes(name));
    const of = having.map(([each]) => each).join(", ");
    throw fields.unsupported(name, `is true; the engine has such biases of ${of} only`);
  }
  return isSet;
}

/** The class that computes a model decides, since a fine-tuned one may have a type of its own. */
function readFamily(fields: ConfigFields): ModelFamily {
  const known = Object.entries(families) as [ModelFamily, (typeof families)[ModelFamily]][];
  const first = firstArchitecture(fields);
  if (first !== undefined) {
    const found = known.find(([, { architecture, partOf }]) => [architecture, partOf?.architecture].includes(first));
    if (found) return found[0];
    const all = known.map(([, { architecture }]) => architecture).join(", ");
    const what = `is ${formatValue(fields.value("architectures"))}; the engine computes ${all}`;
    throw fields.unsupported("architectures", what);
  }
  const type = fields.text("model_type");
  const found = known.find(([family]) => family === type);
  if (found) return found[0];
  const all = known.map(([family]) => family).join(", ");
  throw fields.unsupported("model_type", `is ${formatValue(type)}; the engine computes ${all}`);
}

function firstArchitecture(fields: ConfigFields): string | undefined {
  const named = fields.value("architectures");
  const first: unknown = Array.isArray(named) ? named[0] : named;
  return first === undefined ? undefined : typeof first === "string" ? first : formatValue(first);
}

function refuseUnsupportedComputation(fields: ConfigFields, family: ModelFamily): void {
  const isGelu = families[family].shape?.activation === "gelu_tanh";
  const [name, computed] = isGelu
    ? (["hidden_activation", ["gelu_pytorch_tanh"]] as const)
    : (["hidden_act", ["silu", "swish"]] as const);
  const activation = fields.text(name) ?? computed[0];
  if (!computed.some((each) => each === activation)) {
    throw fields.unsupported(name, `is ${formatValue(activation)}; the engine computes ${computed[0]}`);
  }
  for (const cap of ["attn_logit_softcapping", "final_logit_softcapping"]) {
    if (fields.value(cap) !== undefined) throw fields.unsupported(cap, "is set; the engine caps no logits");
  }
  if (fields.flag("use_bidirectional_attention", false)) {
    throw fields.unsupported("use_bidirectional_attention", "is true; the engine computes models that read forward");
  }
  refuseQuantizedWeights(fields, family);
  const known = families[family].experts ? expertCounts : [];
  for (const name of [...expertCounts, "n_routed_experts"]) {
    if (fields.value(name) && !known.includes(name)) {
      throw fields.unsupported(name, `is set; the engine has no mixture of experts of ${family}`);
    }
  }
}

/** Experts in MXFP4 are read as what they stand for; see `mxfp4.ts`. */
function refuseQuantizedWeights(fields: ConfigFields, family: ModelFamily): void {
  const method = fields.object("quantization_config")?.value("quant_method");
  if (fields.value("quantization_config") === undefined) return;
  if (families[family].experts === "together" && method === "mxfp4") return;
  const what = `is set (${formatValue(method)}); the engine reads weights in F32, F16 and BF16, and experts of gpt_oss in MXFP4`;
  throw fields.unsupported("quantization_config", what);
}
