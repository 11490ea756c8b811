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
  /** Further mistakes in the same arguments; see `Mistakes`. */
  others?: readonly HeddleError[] | undefined;
  /** For operators only: file paths, addresses and accounts are named here. */
  cause?: unknown;
}

/** The one error that a package throws on purpose. Callers may be shown the message; anything else thrown is a defect. */
export class HeddleError extends Error {
  override readonly name = "HeddleError";
  readonly code: ErrorCode;
  readonly loc: Loc | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly others: readonly HeddleError[] | undefined;

  constructor(code: ErrorCode, message: string, { loc, details, others, cause }: HeddleErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.loc = loc;
    this.details = details;
    this.others = others;
  }

  /** This mistake and the further ones, each alone. */
  get all(): HeddleError[] {
    return this.others === undefined ? [this] : [this.with({ others: undefined }), ...this.others];
  }

  /** Returns the error with other members; the cause and the stack stay. */
  with(changes: Partial<Pick<HeddleError, "code" | "message" | "loc" | "details" | "others">>): HeddleError {
    const own = { code: this.code, message: this.message, loc: this.loc, details: this.details, others: this.others };
    const { code, message, loc, details, others } = { ...own, ...changes };
    const changed = new HeddleError(code, message, { loc, details, others, cause: this.cause });
    changed.stack = this.stack?.replace(this.message, () => message);
    return changed;
  }

  /** Returns the error with `prefix` before its loc. An error without a loc is returned as it is. */
  within(prefix: Loc): HeddleError {
    const others = this.others?.map((other) => other.within(prefix));
    return this.loc === undefined ? this : this.with({ loc: [...prefix, ...this.loc], others });
  }
}
