/** The order of the table of calls: by start, then by the bytes of the id. */
export function compareStarts(a: Positioned, b: Positioned): number {
  if (a.started_at !== b.started_at) return a.started_at < b.started_at ? -1 : 1;
  return Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}

export interface Positioned {
  id: string;
  started_at: bigint;
}
