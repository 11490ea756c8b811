import { HeddleError } from "@heddle/errors";

/** To be replaced by {@link HeddleError}. */
export class StoreError extends HeddleError {}

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
