/**
 * How many runs of random requests each operation gets, from FUZZ_RUNS (`pnpm fuzz:deep`). Without it the tests send a
 * few requests per operation and keep huge texts to a few operations.
 */
export const fuzzRuns = Number(process.env["FUZZ_RUNS"] ?? 1);
export const isDeep = fuzzRuns >= 8;
