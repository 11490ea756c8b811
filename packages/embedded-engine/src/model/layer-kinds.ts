import type { LayerKind, LinearAttention, ModelConfig } from "./config.js";

/** The different kinds of layers of a model, and which of them each layer is. */
export interface LayerKinds {
  kinds: LayerKind[];
  /** Index in `kinds` by layer. */
  ofLayer: number[];
}

export function layerKindsOf({ layers, layerKinds }: ModelConfig): LayerKinds {
  const kinds: LayerKind[] = [];
  const ofLayer = Array.from({ length: layers }, (_, layer) => {
    const kind = layerKinds?.[layer] ?? {};
    const known = kinds.findIndex(
      ({ window, rotary, linear }) => window === kind.window && rotary === kind.rotary && linear === kind.linear,
    );
    return known < 0 ? kinds.push(kind) - 1 : known;
  });
  return { kinds, ofLayer };
}

/** Returns the first of the positions that the token at `position` attends to. */
export function firstVisible({ window }: LayerKind, position: number): number {
  return window === undefined ? 0 : Math.max(0, position - window + 1);
}

export function isLinearLayer({ layerKinds }: ModelConfig, layer: number): boolean {
  return layerKinds?.[layer]?.linear === true;
}

/** The layers with keys and values of all positions, and those with a state in their place. */
export function layersByMemory(config: ModelConfig): { attention: number[]; linear: number[] } {
  const all = Array.from({ length: config.layers }, (_, layer) => layer);
  return {
    attention: all.filter((layer) => !isLinearLayer(config, layer)),
    linear: all.filter((layer) => isLinearLayer(config, layer)),
  };
}

export function linearAttentionOf({ linearAttention }: ModelConfig): LinearAttention {
  if (!linearAttention) throw new TypeError("the model has no linear attention");
  return linearAttention;
}

/** Widths of linear attention. */
export function linearWidths(config: ModelConfig): { keys: number; values: number; mixed: number; heads: number } {
  const { keyHeads, valueHeads, keySize, valueSize } = linearAttentionOf(config);
  const [keys, values] = [keyHeads * keySize, valueHeads * valueSize];
  return { keys, values, mixed: 2 * keys + values, heads: valueHeads };
}

/** Numbers that a layer of linear attention keeps of a sequence: the state, and inputs of the positions before. */
export function linearStateSize(config: ModelConfig): number {
  const { valueHeads, keySize, valueSize, kernel } = linearAttentionOf(config);
  return valueHeads * keySize * valueSize + (kernel - 1) * linearWidths(config).mixed;
}

/** Width of the part of a head that is rotated. */
export function rotaryWidth({ rotarySize, headSize }: ModelConfig): number {
  return rotarySize ?? headSize;
}

export function rotatesWholeHeads({ rotarySize, headSize }: ModelConfig): boolean {
  return rotarySize === undefined || rotarySize === headSize;
}

/** Factor of the scores of attention. */
export function scoreScale({ attentionScale, headSize }: ModelConfig): number {
  return attentionScale ?? 1 / Math.sqrt(headSize);
}
