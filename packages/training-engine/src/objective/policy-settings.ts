import type { PolicySettings } from "../port.js";

/** Settings with the defaults that depend on each other: what is absent (or 0, for a limit) is off or the default. */
export function policySettings(given: Partial<PolicySettings>): PolicySettings {
  const ppo = given.ppo ?? false;
  const epsilon = given.epsilon ?? (ppo ? 0.2 : 1);
  const settings: PolicySettings = {
    ppo,
    epsilon,
    epsilonHigh: given.epsilonHigh ?? (ppo ? epsilon : 4),
    importanceSamplingLevel: given.importanceSamplingLevel ?? "token",
    maskProbRatio: given.maskProbRatio ?? false,
  };
  const cap = given.maxNegativeAdvantageImportanceSamplingWeight;
  if (cap) settings.maxNegativeAdvantageImportanceSamplingWeight = cap;
  if (given.k2Tau) settings.k2Tau = given.k2Tau;
  if (given.truncatedImportanceSampling) settings.truncatedImportanceSampling = given.truncatedImportanceSampling;
  return settings;
}
