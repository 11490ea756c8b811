import { EngineError } from "../engine-error.js";
import type { LoraConfig } from "./parameters.js";
import { loraTargets } from "./parameters.js";

/** PEFT takes any rank; beyond this an adapter has no point, and its size could be a trap. */
export const maxRank = 1024;

/** @throws EngineError `invalid`, naming the field, when an adapter that was asked for makes no sense. */
export function checkLoraConfig({ rank, alpha, targets }: LoraConfig): void {
  const fail = (field: string, what: string) =>
    new EngineError("invalid", `the adapter's ${field} ${what}`, `adapter.${field}`);
  if (!Number.isInteger(rank) || rank < 1 || rank > maxRank) {
    throw fail("rank", `is ${rank}, not a whole number from 1 to ${maxRank}`);
  }
  if (!Number.isFinite(alpha) || alpha <= 0) throw fail("alpha", `is ${alpha}, not a number above zero`);
  const known: readonly string[] = loraTargets;
  const unknown = targets.find((target) => !known.includes(target));
  if (unknown !== undefined || targets.length === 0) {
    const given = unknown === undefined ? "are none" : `have ${JSON.stringify(unknown)}`;
    throw fail("targets", `${given}; there are ${loraTargets.join(", ")}`);
  }
}
