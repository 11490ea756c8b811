/** An invalid command line: `message` names the mistake, `usage` the valid forms. */
export class UsageError extends Error {
  override name = "UsageError";
  constructor(
    message: string,
    readonly usage: string,
  ) {
    super(message);
  }
}
