interface Read {
  error: Error | null;
  refetch: () => Promise<unknown>;
}

/** The error of the first of the reads that has failed; null where none has. */
export function failureOf(reads: readonly Pick<Read, "error">[]): Error | null {
  return reads.find(({ error }) => error !== null)?.error ?? null;
}

/** Reads again what has failed. */
export async function retryFailed(reads: readonly Read[]): Promise<unknown> {
  return await Promise.all(reads.filter(({ error }) => error !== null).map(({ refetch }) => refetch()));
}
