import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import { scoredVariables } from "./scored-variables.js";
import { scorerClassOf } from "./scorer-classes.js";
import type { ScorerSettings } from "./scorer-value.js";
import type { Scored } from "./scorer.js";

/** The score of a class that asks no model, from the settings that `checkedScorer` returned. Throws as `Scorer.score` does. */
export function computeScore({ className, settings, scored }: ComputedScore): JsonText {
  const scorerClass = scorerClassOf(className);
  if (scorerClass?.open === undefined) throw new HeddleError("failed", `${className} computes no scores`);
  const { columnMap, parameters } = JSON.parse(settings) as Omit<ScorerSettings, "name">;
  const score = scorerClass.open(parameters);
  return JSON.stringify(score(scoredVariables(scored, columnMap)));
}

interface ComputedScore {
  className: string;
  settings: JsonText;
  scored: Scored;
}
