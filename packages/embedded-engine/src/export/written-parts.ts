/** A file that is written part by part. */
export interface WrittenParts {
  bytes: number;
  parts(): AsyncIterable<Uint8Array>;
}
