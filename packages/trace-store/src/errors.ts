/**
 * What went wrong in the store, without any HTTP:
 * - `busy`: the engine could not answer now (down, restarting, out of memory or disk, too slow). Trying again helps.
 * - `invalid`: the request cannot be carried out as it is; `loc` says where, counted from the request's body.
 * - `not_found`, `conflict`: as the words say; `details` holds what a caller may want to show (`deleted_at`, `digest`…).
 * - `collision`: the name is taken by something of another class.
 * - `too_large`: a smaller request would work.
 */
export type StoreErrorCode = "busy" | "invalid" | "not_found" | "conflict" | "collision" | "too_large";

export interface StoreErrorOptions {
  loc?: ReadonlyArray<string | number>;
  details?: Record<string, unknown>;
  cause?: unknown;
}

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  readonly loc: ReadonlyArray<string | number> | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.loc = options.loc;
    this.details = options.details;
  }
}

/**
 * The engine refused a statement for what it says or carries: an error of ours, or a row it cannot take.
 * `number` is ClickHouse's error number, `type` its name. Never caused by load; see {@link StoreError} `busy` for that.
 */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly number: number;
  readonly type: string;

  constructor(message: string, number: number, type: string, cause?: unknown) {
    super(message, { cause });
    this.number = number;
    this.type = type;
  }
}
