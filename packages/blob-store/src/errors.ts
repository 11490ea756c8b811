/**
 * What a blob store refuses: `not_found` (no such blob), `conflict` (the content is not the expected one), `invalid`
 * (a key or range that cannot be), `corrupt` (stored bytes no longer match their key), `busy` (no answer; try again),
 * `denied` (the place refuses us or does not exist: for the operator to mend).
 *
 * The message may be told to callers; places and accounts stand in the cause, for the operator.
 */
export class BlobError extends Error {
  override name = "BlobError";
  constructor(
    readonly code: "not_found" | "conflict" | "invalid" | "corrupt" | "busy" | "denied",
    message: string,
    options?: { cause: Error },
  ) {
    super(message, options);
  }
}
