/** The projections that a low-rank adapter can adapt, named as in PEFT without `_proj`. */
export const loraTargets = ["q", "k", "v", "o", "gate", "up", "down"] as const;
export type LoraTarget = (typeof loraTargets)[number];

export interface LoraConfig {
  rank: number;
  /** The adapter's product is scaled by `alpha / rank`. */
  alpha: number;
  targets: LoraTarget[];
}
