import { seededOrder } from "./seeded-order.js";

/**
 * Takes `count` items out of a list, chosen without regard to their order. Jobs over as many items take the same ones,
 * so that their evaluations compare. Both lists keep the order.
 */
export function holdOut<T>(items: readonly T[], count: number): { kept: T[]; heldOut: T[] } {
  const chosen = new Set(
    seededOrder(0)
      .shuffled([...items.keys()])
      .slice(0, count),
  );
  return {
    kept: items.filter((_, at) => !chosen.has(at)),
    heldOut: items.filter((_, at) => chosen.has(at)),
  };
}
