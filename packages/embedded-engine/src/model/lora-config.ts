import { loraTargets } from "@heddle/training";
import type { LoraConfig } from "@heddle/training";
import { HeddleError } from "@heddle/errors";

/** Maximum rank. PEFT accepts any; a larger one has no use and could exhaust memory. */
export const maxRank = 1024;

/**
 * Validates the configuration of a requested adapter.
 *
 * @throws HeddleError `invalid` with the field.
 */
export function checkLoraConfig({ rank, alpha, targets }: LoraConfig): void {
  const fail = (field: string, what: string) =>
    new HeddleError("invalid", `the adapter's ${field} ${what}`, { loc: [field] });
  if (!Number.isInteger(rank) || rank < 1 || rank > maxRank) {
    throw fail("rank", `is ${rank}, not an integer from 1 to ${maxRank}`);
  }
  if (!Number.isFinite(alpha) || alpha <= 0) throw fail("alpha", `is ${alpha}, not a number above zero`);
  const known: readonly string[] = loraTargets;
  const unknown = targets.find((target) => !known.includes(target));
  if (unknown !== undefined || targets.length === 0) {
    const given = unknown === undefined ? "is empty" : `contains ${JSON.stringify(unknown)}`;
    throw fail("targets", `${given}; valid targets are ${loraTargets.join(", ")}`);
  }
}

/** Returns whether two adapters have the same factors and scale. */
export function sameAdapter(one: LoraConfig, other: LoraConfig): boolean {
  const shapeOf = ({ rank, alpha, targets }: LoraConfig) => JSON.stringify([rank, alpha, targets.toSorted()]);
  return shapeOf(one) === shapeOf(other);
}
