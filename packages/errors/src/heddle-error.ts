import type { ErrorCode } from "./error-code.js";

/** Path to an argument: names of parameters and members, positions in lists. */
export type Loc = ReadonlyArray<string | number>;

export interface HeddleErrorOptions {
  /**
   * The argument at fault, relative to what the throwing function was given: `["filter", "op_names", 0]` inside its one
   * object, or the parameter's name first where there are several. Empty means all of it; absent means no argument.
   */
  loc?: Loc;
  /** More for the caller to read, in names of the API: `deleted_at`, `digest`. */
  details?: Readonly<Record<string, unknown>>;
  /** For operators only: file paths, addresses and accounts are named here. */
  cause?: unknown;
}

/** The one error that a package throws on purpose. Callers may be shown the message; anything else thrown is a defect. */
export class HeddleError extends Error {
  override readonly name = "HeddleError";
  readonly code: ErrorCode;
  readonly loc: Loc | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, { loc, details, cause }: HeddleErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.loc = loc;
    this.details = details;
  }

  /** Returns the same error with `prefix` before its loc. An error without a loc is returned as it is. */
  within(prefix: Loc): HeddleError {
    if (this.loc === undefined) return this;
    const { code, message, details, cause } = this;
    const located = new HeddleError(code, message, { loc: [...prefix, ...this.loc], details, cause });
    located.stack = this.stack;
    return located;
  }
}
