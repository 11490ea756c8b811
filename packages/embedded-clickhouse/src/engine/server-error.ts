/** An error in the server's own words: `Code: 62. DB::Exception: … (SYNTAX_ERROR)`. */
export class ServerError extends Error {
  override readonly name = "ServerError";

  constructor(
    readonly code: number,
    text: string,
  ) {
    super(text);
  }

  static of(code: number, type: string, text: string): ServerError {
    return new ServerError(code, `Code: ${code}. DB::Exception: ${text} (${type})`);
  }

  /** Takes an error text of the engine; one without a code becomes 1002, the server's code for the unknown. */
  static fromMessage(text: string): ServerError {
    // What a synchronous query puts in front.
    const message = text.replace(/^Query failed: /, "");
    const code = /^Code: (\d+)\b/.exec(message)?.[1];
    return code === undefined
      ? ServerError.of(1002, "UNKNOWN_EXCEPTION", message)
      : new ServerError(Number(code), message);
  }

  static fromUnknown(error: unknown): ServerError {
    if (error instanceof ServerError) return error;
    return ServerError.fromMessage(error instanceof Error ? error.message : String(error));
  }
}
