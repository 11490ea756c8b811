import type { ModelConfig, RotaryScaling } from "../model/config.js";
import type { ConfigFields } from "./config-fields.js";
import { configFields, formatValue } from "./config-fields.js";
import type { JsonObject } from "@heddle/exact-json";

const families = {
  LlamaForCausalLM: "llama",
  MistralForCausalLM: "mistral",
  Qwen2ForCausalLM: "qwen2",
  Qwen3ForCausalLM: "qwen3",
} as const;
type Architecture = keyof typeof families;

const maxWidth = 2 ** 17;
const maxVocabulary = 2 ** 22;
const maxContext = 2 ** 24;

/**
 * Reads the `config.json` of a Hugging Face directory. Defaults of absent fields are those of `transformers`. Rotary
 * settings are read in their old form (`rope_theta`, `rope_scaling`) and their new one (`rope_parameters`). The context of a
 * model with sliding windows is the window.
 *
 * @throws HeddleError naming the field: `invalid` for a wrong value, `unsupported` for a computation that the engine does not
 *   have (other activations, further biases, quantised weights…).
 */
export function parseModelConfig(json: JsonObject): ModelConfig {
  const fields = configFields(json, "config.json");
  const architecture = readArchitecture(fields);
  const family = families[architecture];
  refuseUnsupportedComputation(fields);
  const attentionBias = readBias(fields, "attention_bias", family, ["llama", "qwen3"]);
  const feedForwardBias = readBias(fields, "mlp_bias", family, ["llama"]);
  const hiddenSize = fields.count("hidden_size", maxWidth);
  const heads = fields.count("num_attention_heads", 4096);
  const keyValueHeads = fields.count("num_key_value_heads", heads, defaultKeyValueHeads(family, heads));
  if (heads % keyValueHeads) {
    throw fields.invalid(
      "num_key_value_heads",
      `is ${keyValueHeads}, which does not divide the ${heads} attention heads`,
    );
  }
  const headSize = fields.count("head_dim", maxWidth, family === "qwen3" ? 128 : hiddenSize / heads);
  if (headSize % 2) throw fields.unsupported("head_dim", `is ${headSize}; rotary positions need an even one`);
  const layers = fields.count("num_hidden_layers", 1024);
  const contextLength = fields.count("max_position_embeddings", maxContext);
  const longest = unwindowedLength(fields, family, { layers, contextLength });
  return {
    family,
    vocabularySize: fields.count("vocab_size", maxVocabulary),
    hiddenSize,
    layers,
    heads,
    keyValueHeads,
    headSize,
    feedForwardSize: fields.count("intermediate_size", 2 ** 20),
    contextLength: longest,
    normEpsilon: fields.positive("rms_norm_eps", 1e-6),
    ...readRotary(fields, contextLength),
    tiedEmbeddings: fields.flag("tie_word_embeddings", false),
    queryKeyNorm: family === "qwen3",
    attentionBias: family === "qwen2" || attentionBias,
    ...(attentionBias && { outputBias: true }),
    ...(feedForwardBias && { feedForwardBias: true }),
  };
}

/** Returns the `config.json` of a model in a form that old and new versions of `transformers` and vLLM read. */
export function modelConfigJson(config: ModelConfig): JsonObject {
  const architecture = (Object.keys(families) as Architecture[]).find((name) => families[name] === config.family);
  return {
    architectures: [architecture],
    model_type: config.family,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headSize,
    intermediate_size: config.feedForwardSize,
    hidden_act: "silu",
    max_position_embeddings: config.contextLength,
    rms_norm_eps: config.normEpsilon,
    rope_theta: config.rotaryBase,
    rope_scaling: rotaryJson(config.rotaryScaling),
    tie_word_embeddings: config.tiedEmbeddings,
    attention_dropout: 0,
    ...extraFields(config),
  };
}

/** Fields that not every family has. */
function extraFields({ family, outputBias = false, feedForwardBias = false }: ModelConfig): JsonObject {
  const fields: Record<ModelConfig["family"], JsonObject> = {
    llama: { attention_bias: outputBias, mlp_bias: feedForwardBias },
    mistral: { sliding_window: null },
    qwen2: { use_sliding_window: false },
    qwen3: { attention_bias: outputBias, use_sliding_window: false },
  };
  return fields[family];
}

function defaultKeyValueHeads(family: ModelConfig["family"], heads: number): number | undefined {
  if (family === "mistral") return 8;
  return family === "llama" ? heads : undefined;
}

/** Reads a flag for biases, which only some families have. */
function readBias(
  fields: ConfigFields,
  name: string,
  family: ModelConfig["family"],
  of: ModelConfig["family"][],
): boolean {
  const isSet = fields.flag(name, false);
  if (isSet && !of.includes(family)) {
    throw fields.unsupported(name, `is true; the engine has such biases of ${of.join(" and ")} only`);
  }
  return isSet;
}

function readArchitecture(fields: ConfigFields): Architecture {
  const named = fields.value("architectures");
  const first: unknown = Array.isArray(named) ? named[0] : named;
  const known = Object.keys(families) as Architecture[];
  if (first !== undefined) {
    const found = known.find((name) => name === first);
    if (found) return found;
    throw fields.unsupported("architectures", `is ${formatValue(named)}; the engine computes ${known.join(", ")}`);
  }
  const type = fields.text("model_type");
  const found = known.find((name) => families[name] === type);
  if (found) return found;
  throw fields.unsupported(
    "model_type",
    `is ${formatValue(type)}; the engine computes ${Object.values(families).join(", ")}`,
  );
}

function refuseUnsupportedComputation(fields: ConfigFields): void {
  const activation = fields.text("hidden_act") ?? "silu";
  if (activation !== "silu" && activation !== "swish") {
    throw fields.unsupported("hidden_act", `is ${formatValue(activation)}; the engine computes silu`);
  }
  if (fields.value("quantization_config") !== undefined) {
    throw fields.unsupported("quantization_config", "is set; the engine reads F32, F16 and BF16 weights only");
  }
  for (const name of ["num_experts", "num_local_experts", "n_routed_experts"]) {
    if (fields.value(name)) throw fields.unsupported(name, "is set; the engine has no mixture of experts");
  }
}

/**
 * The longest text in which every layer attends to all that is before: the width of a window that some layers have, or the
 * whole context. Within it, a model computes the same with a window and without.
 */
function unwindowedLength(
  fields: ConfigFields,
  family: ModelConfig["family"],
  { layers, contextLength }: { layers: number; contextLength: number },
): number {
  if (!hasWindows(fields, family, layers)) return contextLength;
  // An absent field means the window of the first models of Mistral.
  const isAbsent = family === "mistral" && !fields.names().includes("sliding_window");
  return Math.min(contextLength, fields.count("sliding_window", maxContext, isAbsent ? 4096 : undefined));
}

function hasWindows(fields: ConfigFields, family: ModelConfig["family"], layers: number): boolean {
  const window = fields.value("sliding_window");
  // `null` means none.
  if (family === "mistral") return window !== undefined || !fields.names().includes("sliding_window");
  const types = fields.value("layer_types");
  if (!Array.isArray(types)) {
    const inUse = fields.flag("use_sliding_window", false) && window !== undefined;
    return inUse && layers > fields.count("max_window_layers", 2 ** 20, 28);
  }
  const other: unknown = types.find((type) => type !== "full_attention" && type !== "sliding_attention");
  if (other !== undefined) {
    const known = "full_attention and sliding_attention";
    throw fields.unsupported("layer_types", `has ${formatValue(other)}; the engine computes ${known}`);
  }
  return types.includes("sliding_attention");
}

function readRotary(fields: ConfigFields, contextLength: number): Pick<ModelConfig, "rotaryBase" | "rotaryScaling"> {
  const sections = [fields.object("rope_scaling"), fields.object("rope_parameters")].filter(
    (each) => each !== undefined,
  );
  for (const section of [fields, ...sections]) {
    if (section.positive("partial_rotary_factor", 1) !== 1) {
      throw section.unsupported("partial_rotary_factor", "is not 1; the engine rotates whole heads");
    }
  }
  const bases = [fields, ...sections].filter((section) => section.value("rope_theta") !== undefined);
  const [rotaryBase = 10_000, ...others] = bases.map((section) => section.positive("rope_theta"));
  if (others.some((other) => other !== rotaryBase)) throw fields.invalid("rope_theta", "is given twice and differs");
  const scalings = sections.map((section) => readScaling(section, contextLength));
  if (scalings.length === 2 && JSON.stringify(scalings[0]) !== JSON.stringify(scalings[1])) {
    throw fields.invalid("rope_scaling", "and rope_parameters differ");
  }
  const [rotaryScaling] = scalings;
  if (rotaryScaling?.type === "yarn" && rotaryBase <= 1) throw fields.invalid("rope_theta", "is not above 1");
  return { rotaryBase, ...(rotaryScaling && { rotaryScaling }) };
}

function readScaling(fields: ConfigFields, contextLength: number): RotaryScaling | undefined {
  const type = fields.text("rope_type") ?? fields.text("type") ?? "default";
  switch (type) {
    case "default":
      return undefined;
    case "linear":
      return { type, factor: fields.positive("factor") };
    case "llama3":
      return {
        type,
        factor: fields.positive("factor"),
        lowFrequencyFactor: fields.positive("low_freq_factor"),
        highFrequencyFactor: fields.positive("high_freq_factor"),
        originalContextLength: fields.count("original_max_position_embeddings", maxContext, contextLength),
      };
    case "yarn":
      return { type, ...readYarn(fields, contextLength) };
    default:
      throw fields.unsupported(
        "rope_type",
        `is ${formatValue(type)}; the engine computes default, linear, llama3 and yarn`,
      );
  }
}

function readYarn(fields: ConfigFields, contextLength: number): Omit<Extract<RotaryScaling, { type: "yarn" }>, "type"> {
  const factor = fields.positive("factor");
  const scale = (weight: number) => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
  const hasScales = fields.value("mscale") !== undefined && fields.value("mscale_all_dim") !== undefined;
  const byDefault = hasScales ? scale(fields.positive("mscale")) / scale(fields.positive("mscale_all_dim")) : scale(1);
  return {
    factor,
    originalContextLength: fields.count("original_max_position_embeddings", maxContext, contextLength),
    betaFast: fields.positive("beta_fast", 32),
    betaSlow: fields.positive("beta_slow", 1),
    attentionFactor: fields.positive("attention_factor", byDefault),
    truncate: fields.flag("truncate", true),
  };
}

function rotaryJson(scaling: RotaryScaling | undefined): JsonObject | null {
  if (!scaling) return null;
  if (scaling.type === "linear") return { rope_type: "linear", factor: scaling.factor };
  if (scaling.type === "yarn") {
    return {
      rope_type: "yarn",
      factor: scaling.factor,
      original_max_position_embeddings: scaling.originalContextLength,
      beta_fast: scaling.betaFast,
      beta_slow: scaling.betaSlow,
      attention_factor: scaling.attentionFactor,
      truncate: scaling.truncate,
    };
  }
  return {
    rope_type: "llama3",
    factor: scaling.factor,
    low_freq_factor: scaling.lowFrequencyFactor,
    high_freq_factor: scaling.highFrequencyFactor,
    original_max_position_embeddings: scaling.originalContextLength,
  };
}
