/** How values differ from others that they are paired with. */
export interface PairedDifference {
  rows: number;
  base_mean: number;
  mean: number;
  difference: number;
  low: number | null;
  high: number | null;
  higher: number;
  lower: number;
  equal: number;
}

/**
 * Compares the values of two runs row by row; NaN where there is none. Undefined where no row has both.
 *
 * The interval is that of the paired t-test (Student 1908; NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.2 applied to
 * the differences): d ± t(0.975, n − 1) · s / √n, with d the mean and s the standard deviation (divisor n − 1) of the n
 * differences. Rows are the unit and not trials: the trials of one question are not independent, and pairing removes what makes
 * some questions harder than others in both runs.
 */
export function pairedDifference(base: readonly number[], other: readonly number[]): PairedDifference | undefined {
  let rows = 0;
  let [baseMean, mean, difference, squares] = [0, 0, 0, 0];
  let [higher, lower, equal] = [0, 0, 0];
  for (let row = 0; row < base.length; row++) {
    const [before, after] = [base[row] ?? Number.NaN, other[row] ?? Number.NaN];
    const step = differenceOf(before, after);
    if (Number.isNaN(step)) continue;
    rows++;
    baseMean += (before - baseMean) / rows;
    mean += (after - mean) / rows;
    // Welford's recurrence: the sum of squares stays exact where all differences are nearly equal.
    const deviation = step - difference;
    difference += deviation / rows;
    squares += deviation * (step - difference);
    if (step > 0) higher++;
    else if (step < 0) lower++;
    else equal++;
  }
  if (rows === 0) return undefined;
  const half = rows === 1 ? undefined : studentQuantile(rows - 1) * Math.sqrt(squares / (rows - 1) / rows);
  return {
    rows,
    base_mean: baseMean,
    mean,
    difference,
    low: half === undefined ? null : difference - half,
    high: half === undefined ? null : difference + half,
    higher,
    lower,
    equal,
  };
}

/** `after` minus `before`; 0 where they differ by nothing but the rounding of means, NaN where one is missing. */
export function differenceOf(before: number, after: number): number {
  const difference = after - before;
  return Math.abs(difference) <= 1e-12 * Math.max(Math.abs(before), Math.abs(after)) ? 0 : difference;
}

/** The 0.975 quantile of the normal distribution. */
const z = 1.959963984540054;
/** Of Student's distribution with 1 to 4 degrees of freedom, where the series is coarse. */
const fewDegrees = [12.706204736174698, 4.302652729749462, 3.182446305283709, 2.7764451051977943];

/**
 * The 0.975 quantile of Student's distribution, by the expansion of Abramowitz and Stegun, Handbook of Mathematical Functions,
 * 26.7.5; exact to 0.0003 and less, the less the more rows there are.
 */
export function studentQuantile(degrees: number): number {
  const known = fewDegrees[degrees - 1];
  if (known !== undefined) return known;
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92_160,
  ];
  return terms.reduce((sum, term, index) => sum + term / degrees ** (index + 1), z);
}
