import { seededOrder } from "./seeded-order.js";

/**
 * Takes `count` items out of a list, chosen without regard to their order. Jobs over as many items take the same ones,
 * so that their evaluations compare. Both lists keep the order.
 */
export function holdOut<T>(items: readonly T[], count: number): { kept: T[]; heldOut: T[] } {
  const chosen = heldOutIndexes(items.length, count);
  return {
    kept: items.filter((_, at) => !chosen.has(at)),
    heldOut: items.filter((_, at) => chosen.has(at)),
  };
}

/** The positions of the items that `holdOut` takes out of a list with `length` items. */
export function heldOutIndexes(length: number, count: number): ReadonlySet<number> {
  const order = seededOrder(0).shuffled([...Array(length).keys()]);
  return new Set(order.slice(0, count));
}
