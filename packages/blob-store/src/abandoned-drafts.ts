/** A draft that was begun so long ago (microseconds) belongs to a process that has ended. */
const abandoned = 86_400_000_000n;

/** The time (microseconds since 1970) before which drafts were begun that no process completes any more. */
export const abandonedBefore = (): bigint => BigInt(Date.now()) * 1000n - abandoned;
