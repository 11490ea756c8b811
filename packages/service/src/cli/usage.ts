/** A command line that cannot be acted on: `message` says what is wrong, `usage` what would work. */
export class UsageError extends Error {
  override name = "UsageError";
  constructor(
    message: string,
    readonly usage: string,
  ) {
    super(message);
  }
}
