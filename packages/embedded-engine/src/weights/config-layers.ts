import type { JsonObject } from "@heddle/exact-json";
import type { LayerKind, ModelConfig, ModelFamily } from "../model/config.js";
import type { ConfigFields } from "./config-fields.js";
import { formatValue } from "./config-fields.js";
import { maxContext } from "./config-rotary.js";
import { families } from "./families.js";

/** Reads in what layers differ: their windows and their positions. */
export function readLayerKinds(
  fields: ConfigFields,
  family: ModelFamily,
  { layers, contextLength }: { layers: number; contextLength: number },
): Pick<ModelConfig, "layerKinds"> {
  const linear = families[family].hasLinearAttention ? linearLayers(fields, layers) : undefined;
  const withoutPositions = families[family].hasLayersWithoutPositions
    ? layersWithoutPositions(fields, layers)
    : undefined;
  const windowed = layersWithWindows(fields, family, layers, withoutPositions);
  const window = windowed.includes(true) ? readWindow(fields, family) : undefined;
  const hasLocal = typeof families[family].windows === "number";
  const kinds = Array.from({ length: layers }, (_, layer): LayerKind => {
    if (linear?.[layer]) return { linear: true };
    const isWindowed = windowed[layer] === true;
    // One that is as long as the context is none.
    const width = isWindowed && window !== undefined && window < contextLength ? { window } : {};
    if (withoutPositions?.[layer]) return { ...width, rotary: "none" };
    return isWindowed && hasLocal ? { ...width, rotary: "local" } : width;
  });
  return kinds.some((kind) => Object.keys(kind).length > 0) ? { layerKinds: kinds } : {};
}

function readWindow(fields: ConfigFields, family: ModelFamily): number {
  const isAbsent = !fields.names().includes("sliding_window");
  return fields.count("sliding_window", maxContext, isAbsent ? families[family].defaults?.window : undefined);
}

function layersWithWindows(
  fields: ConfigFields,
  family: ModelFamily,
  layers: number,
  withoutPositions: boolean[] | undefined,
): boolean[] {
  const { windows } = families[family];
  const window = fields.value("sliding_window");
  const every = (of: (layer: number) => boolean) => Array.from({ length: layers }, (_, layer) => of(layer));
  if (windows === undefined) return every(() => false);
  if (windows === "all") {
    // Absent, the field means the window of the first models of Mistral; `null` means none.
    const isDefault = families[family].defaults?.window !== undefined && !fields.names().includes("sliding_window");
    return every(() => window !== undefined || isDefault);
  }
  const types = readTypes(fields, layers);
  if (types) return every((layer) => types[layer] === "sliding_attention");
  if (windows === "alternating") return every((layer) => layer % 2 === 0);
  if (typeof windows === "number") {
    const pattern = fields.count("sliding_window_pattern", 1024, windows);
    return every((layer) => (layer + 1) % pattern !== 0);
  }
  const inUse = fields.flag("use_sliding_window", false) && window !== undefined;
  if (withoutPositions) return every((layer) => inUse && withoutPositions[layer] === true);
  const first = inUse ? fields.count("max_window_layers", 2 ** 20, 28) : layers;
  return every((layer) => layer >= first);
}

/** Which layers have linear attention. Not all: positions would be unknown to the model. */
function linearLayers(fields: ConfigFields, layers: number): boolean[] {
  const types = readTypes(fields, layers, ["full_attention", "linear_attention"]);
  const interval = fields.count("full_attention_interval", 1024, 4);
  const linear = Array.from({ length: layers }, (_, layer) =>
    types ? types[layer] === "linear_attention" : (layer + 1) % interval !== 0,
  );
  if (linear.includes(false)) return linear;
  throw fields.unsupported(
    "layer_types",
    "has linear_attention only; the engine computes models with full_attention too",
  );
}

function readTypes(
  fields: ConfigFields,
  layers: number,
  known: readonly string[] = ["full_attention", "sliding_attention"],
): unknown[] | undefined {
  const types = fields.value("layer_types");
  if (!Array.isArray(types)) return undefined;
  const other: unknown = types.find((type) => typeof type !== "string" || !known.includes(type));
  if (other !== undefined) {
    throw fields.unsupported("layer_types", `has ${formatValue(other)}; the engine computes ${known.join(" and ")}`);
  }
  if (types.length < layers) {
    throw fields.invalid("layer_types", `names ${types.length} layers; the model has ${layers}`);
  }
  return types;
}

function layersWithoutPositions(fields: ConfigFields, layers: number): boolean[] {
  const given = fields.value("no_rope_layers");
  if (given === undefined || (Array.isArray(given) && given.length === 0)) {
    const interval = fields.count("no_rope_layer_interval", 1024, 4);
    return Array.from({ length: layers }, (_, layer) => (layer + 1) % interval === 0);
  }
  const isValid = Array.isArray(given) && given.length >= layers && given.every((each) => each === 0 || each === 1);
  if (!isValid)
    throw fields.invalid("no_rope_layers", `is ${formatValue(given)}, not 0 or 1 for each of ${layers} layers`);
  return given.slice(0, layers).map((each) => each === 0);
}

/** The fields from which `readLayerKinds` reads the same. */
export function layerFields({ family, layers, layerKinds = [], contextLength }: ModelConfig): JsonObject {
  const { windows, hasLayersWithoutPositions, hasLinearAttention } = families[family];
  if (hasLinearAttention) {
    const isLinear = (layer: number) => layerKinds[layer]?.linear === true;
    const typeOf = (layer: number) => (isLinear(layer) ? "linear_attention" : "full_attention");
    return { layer_types: Array.from({ length: layers }, (_, layer) => typeOf(layer)) };
  }
  const kinds = Array.from({ length: layers }, (_, layer): LayerKind => layerKinds[layer] ?? {});
  const window = kinds.find((kind) => kind.window !== undefined)?.window;
  const isSliding = (kind: LayerKind) => kind.window !== undefined || kind.rotary === "local";
  const types = kinds.map((kind) => (isSliding(kind) ? "sliding_attention" : "full_attention"));
  const positions = hasLayersWithoutPositions && {
    no_rope_layers: kinds.map(({ rotary }) => (rotary === "none" ? 0 : 1)),
  };
  if (windows === undefined) return {};
  if (windows === "all") return { sliding_window: window ?? null };
  if (typeof windows === "number" || windows === "alternating") {
    return { sliding_window: window ?? contextLength, layer_types: types };
  }
  if (window === undefined) return { use_sliding_window: false, ...positions };
  return { use_sliding_window: true, sliding_window: window, layer_types: types, ...positions };
}
