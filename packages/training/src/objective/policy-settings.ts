import type { PolicySettings } from "../port.js";

/**
 * Completes policy settings with their defaults, which depend on each other. An absent setting, or a limit of 0, is off
 * or the default.
 */
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
  if (given.klLoss?.coefficient) settings.klLoss = given.klLoss;
  return settings;
}
