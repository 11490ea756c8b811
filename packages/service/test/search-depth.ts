/**
 * How many runs of random requests each operation gets, from FUZZ_RUNS (`pnpm fuzz:deep`). Without it the tests send a
 * few requests per operation and keep huge texts to a few operations.
 */
export const fuzzRuns = Number(process.env["FUZZ_RUNS"] ?? 1);
export const isDeep = fuzzRuns >= 8;

/** One of how many operations, from OPERATIONS_SHARE: `pnpm test` sets it, and `pnpm test:all` goes over every operation. */
const share = isDeep ? 1 : Number(process.env["OPERATIONS_SHARE"] ?? 1);

/**
 * The operations that an expensive test goes over: every n-th, beginning with the `first`. Tests begin with different
 * ones, so that most operations are in the share of one of them.
 */
export function shareOf<T>(operations: readonly T[], first: number): T[] {
  return operations.filter((_, index) => index % share === first % share);
}
