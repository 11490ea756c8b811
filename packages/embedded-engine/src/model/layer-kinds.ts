import type { LayerKind, ModelConfig } from "./config.js";

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
    const known = kinds.findIndex(({ window, rotary }) => window === kind.window && rotary === kind.rotary);
    return known < 0 ? kinds.push(kind) - 1 : known;
  });
  return { kinds, ofLayer };
}

/** Returns the first of the positions that the token at `position` attends to. */
export function firstVisible({ window }: LayerKind, position: number): number {
  return window === undefined ? 0 : Math.max(0, position - window + 1);
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
