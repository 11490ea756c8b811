import type { EvalResultsScorerStats } from "@heddle/client/tracing";

const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, useGrouping: false });

/** A score or mean with three digits. */
export const scoreText = (value: number): string => digits.format(value);

/** How a value of the scores is named: `judge`, `judge.correct`. */
export const scoreName = ({ scorer_key: scorer, path }: Pick<EvalResultsScorerStats, "scorer_key" | "path">): string =>
  path === null || path === undefined || path === "" ? scorer : `${scorer}.${path}`;

/** The mean of a value of the scores, a share of true included; undefined for texts and lists. */
export const meanOf = ({ numeric_mean, pass_rate, value_type }: EvalResultsScorerStats): number | undefined =>
  (value_type === "binary" ? pass_rate : numeric_mean) ?? undefined;

/** How many trials have no number or boolean here: they are not part of the mean. */
export const missingOf = ({
  trial_count = 0,
  numeric_count = 0,
  pass_known_count = 0,
}: EvalResultsScorerStats): number => Math.max(0, trial_count - Math.max(numeric_count, pass_known_count));
