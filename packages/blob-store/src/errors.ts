/**
 * What a blob store refuses: `not_found` (no such blob), `conflict` (the content is not the expected one), `invalid`
 * (a key or range that cannot be), `corrupt` (stored bytes no longer match their key).
 */
export class BlobError extends Error {
  override name = "BlobError";
  constructor(
    readonly code: "not_found" | "conflict" | "invalid" | "corrupt",
    message: string,
  ) {
    super(message);
  }
}
