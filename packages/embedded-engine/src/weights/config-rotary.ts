import type { JsonObject } from "@heddle/exact-json";
import type { ModelConfig, ModelFamily, RotaryScaling } from "../model/config.js";
import type { ConfigFields } from "./config-fields.js";
import { formatValue } from "./config-fields.js";
import { families } from "./families.js";

/** Longest context that a configuration may name. */
export const maxContext = 2 ** 24;

type RotaryFields = Pick<ModelConfig, "rotaryBase" | "rotaryScaling" | "rotarySize" | "localRotaryBase">;

/**
 * Reads rotary settings in their old form (`rope_theta`, `rope_scaling`) and their new one (`rope_parameters`, which has a section by
 * kind of layer where local layers are rotated by another base).
 */
export function readRotary(
  fields: ConfigFields,
  family: ModelFamily,
  { contextLength, headSize }: { contextLength: number; headSize: number },
): RotaryFields {
  const parameters = fields.object("rope_parameters");
  const sections = [fields.object("rope_scaling"), parameters?.object("full_attention") ?? parameters].filter(
    (each) => each !== undefined,
  );
  const named = [fields, ...sections].filter((section) => section.value("partial_rotary_factor") !== undefined);
  const rotated = (named.length > 0 ? named : [fields]).map((section) => readRotatedPart(section, family, headSize));
  const rotarySize = rotated.find((size) => size !== headSize);
  const byDefault = families[family].defaults?.rotaryBase ?? 10_000;
  const bases = [fields, ...sections].filter((section) => section.value("rope_theta") !== undefined);
  const [rotaryBase = byDefault, ...others] = bases.map((section) => section.positive("rope_theta"));
  if (others.some((other) => other !== rotaryBase)) throw fields.invalid("rope_theta", "is given twice and differs");
  const scalings = sections.map((section) =>
    readScaling(section, fields, { family, contextLength, pairs: (rotarySize ?? headSize) / 2 }),
  );
  if (scalings.length === 2 && JSON.stringify(scalings[0]) !== JSON.stringify(scalings[1])) {
    throw fields.invalid("rope_scaling", "and rope_parameters differ");
  }
  const rotaryScaling = sections.length > 0 ? scalings[0] : families[family].defaults?.rotaryScaling;
  if (rotaryScaling?.type === "yarn" && rotaryBase <= 1) throw fields.invalid("rope_theta", "is not above 1");
  return {
    rotaryBase,
    ...(rotaryScaling && { rotaryScaling }),
    ...(rotarySize !== undefined && { rotarySize }),
    ...readLocalBase(fields, family, parameters),
  };
}

/** Only families whose layers differ in it have a base of local layers. */
function readLocalBase(
  fields: ConfigFields,
  family: ModelFamily,
  parameters: ConfigFields | undefined,
): Pick<ModelConfig, "localRotaryBase"> {
  if (typeof families[family].windows !== "number") return {};
  const local = parameters?.object("sliding_attention");
  const type = local?.text("rope_type") ?? "default";
  if (local && type !== "default") {
    throw local.unsupported("rope_type", `is ${formatValue(type)}; the engine does not scale local positions`);
  }
  return { localRotaryBase: local?.positive("rope_theta", 10_000) ?? fields.positive("rope_local_base_freq", 10_000) };
}

function readRotatedPart(fields: ConfigFields, family: ModelFamily, headSize: number): number {
  const part = fields.positive("partial_rotary_factor", families[family].defaults?.rotatedPart ?? 1);
  if (part === 1) return headSize;
  if (!families[family].rotatesParts) {
    throw fields.unsupported("partial_rotary_factor", "is not 1; the engine rotates whole heads");
  }
  const size = Math.floor(headSize * part);
  if (part > 1 || size < 2 || size % 2) {
    throw fields.invalid("partial_rotary_factor", `is ${part}, which is no even part of a head of ${headSize}`);
  }
  return size;
}

interface Rotated {
  family: ModelFamily;
  contextLength: number;
  /** Number of rotated pairs of a head. */
  pairs: number;
}

function readScaling(fields: ConfigFields, all: ConfigFields, rotated: Rotated): RotaryScaling | undefined {
  const { family, contextLength } = rotated;
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
    case "su":
    case "longrope":
      if (families[family].rotatesParts) return { type: "longrope", ...readLongRope(fields, all, rotated) };
  }
  throw fields.unsupported(
    "rope_type",
    `is ${formatValue(type)}; the engine computes default, linear, llama3 and yarn`,
  );
}

function readLongRope(
  fields: ConfigFields,
  all: ConfigFields,
  { contextLength, pairs }: Rotated,
): Omit<Extract<RotaryScaling, { type: "longrope" }>, "type"> {
  const divisors = (name: string): number[] => {
    const given = fields.value(name);
    const isValid = (each: unknown) => typeof each === "number" && Number.isFinite(each) && each > 0;
    if (Array.isArray(given) && given.length === pairs && given.every(isValid)) return given as number[];
    throw fields.invalid(name, `is ${formatValue(given)}, not a list of ${pairs} numbers above zero`);
  };
  const named = fields.value("original_max_position_embeddings") === undefined ? all : fields;
  const originalContextLength = named.count("original_max_position_embeddings", maxContext, 4096);
  const factor = fields.positive("factor", contextLength / originalContextLength);
  const byDefault = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalContextLength));
  return {
    divisors: divisors("short_factor"),
    longDivisors: divisors("long_factor"),
    attentionFactor: fields.positive("attention_factor", byDefault),
    originalContextLength,
  };
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

export function rotaryJson(scaling: RotaryScaling | undefined, family: ModelFamily): JsonObject | null {
  // Without the field, a family may have a scaling.
  if (!scaling) return families[family].defaults?.rotaryScaling ? { rope_type: "default" } : null;
  if (scaling.type === "linear") return { rope_type: "linear", factor: scaling.factor };
  if (scaling.type === "longrope") {
    return {
      rope_type: "longrope",
      short_factor: scaling.divisors,
      long_factor: scaling.longDivisors,
      attention_factor: scaling.attentionFactor,
      original_max_position_embeddings: scaling.originalContextLength,
    };
  }
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
