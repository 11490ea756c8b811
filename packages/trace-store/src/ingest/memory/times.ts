/** A start that is further ahead of now is an error, and says nothing about other calls. */
export const clockErrorUs = 3_600_000_000n;
/** Whatever started before this may be stored. */
export const endOfTime = 2n ** 63n;
/** Nothing started before this. */
export const startOfTime = -(2n ** 63n);
