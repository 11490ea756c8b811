/** What every backend offers. Blobs are named by their content, so a blob never changes once it is there. */
export interface BlobStore {
  /**
   * Stores the bytes and resolves when they would survive a power loss. Equal content has one key, however often it is
   * put. With `expectedSha256` (64 hex digits) other content is refused as `conflict` and nothing is kept.
   */
  put(source: BlobSource, options?: { expectedSha256?: string }): Promise<BlobInfo>;
  /**
   * Opens a blob for reading; rejects with `not_found` before any byte is delivered. `range.end` is the last byte
   * wanted and may lie beyond the blob; a range that starts beyond it is `invalid`. With `verify` the stream ends in
   * `corrupt` when the bytes do not have the digest of the key (whole reads only).
   */
  get(key: string, options?: BlobReadOptions): Promise<BlobReader>;
  stat(key: string): Promise<BlobInfo | undefined>;
  /**
   * Resolves to false when there was nothing to delete. With `putBefore` (microseconds since 1970) a blob that was put
   * then or later stays, and putting it meanwhile, in any process, saves it.
   */
  delete(key: string, options?: { putBefore?: bigint }): Promise<boolean>;
  /** Every blob in the order of its key. */
  list(): AsyncIterable<BlobEntry>;
  /**
   * Deletes the drafts of uploads that were begun before a time (microseconds since 1970) and never completed, and what was kept
   * since then for blobs that are put again.
   */
  discardDrafts(begunBefore: bigint): Promise<void>;
  /** Rejects with `busy` while the store does not respond or cannot be written. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export type BlobSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface BlobReadOptions {
  /** First and last byte, counted from 0, both included. */
  range?: { start: number; end?: number };
  verify?: boolean;
}

export interface BlobInfo {
  /** `sha256/ab/cd/<64 hex digits>`; the same text in every backend. */
  key: string;
  /** Bytes of the whole blob. */
  size: number;
  /** Lowercase hex. */
  sha256: string;
}

export interface BlobEntry extends BlobInfo {
  /** Microseconds since 1970 of the last put of this content. */
  modifiedAt: bigint;
}

export interface BlobReader extends BlobInfo {
  /** First byte delivered. */
  start: number;
  /** One past the last byte delivered. */
  end: number;
  stream: AsyncIterable<Uint8Array>;
}
