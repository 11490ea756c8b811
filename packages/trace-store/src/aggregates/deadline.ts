import { HeddleError } from "@heddle/errors";
import type { StatementOptions } from "../engine/engine.js";

/** The engine says that it took too long. */
const timeExceeded = new Set(["159", "160"]);

/** A time at which the statements of an answer end. */
export class Deadline {
  readonly #endMs: number;

  constructor(seconds: number) {
    this.#endMs = performance.now() + seconds * 1000;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }

  /** Seconds that are left, at least a little. */
  get left(): number {
    return Math.max(0.05, (this.#endMs - performance.now()) / 1000);
  }

  /** The settings of a statement that fails when the time is over. */
  get settings(): NonNullable<StatementOptions["settings"]> {
    return { max_execution_time: this.left };
  }
}

/** Whether a statement was ended by its deadline, or needed more memory than it may have. */
export function isTooMuch(error: unknown): boolean {
  if (!(error instanceof HeddleError) || error.code !== "busy") return false;
  const { cause } = error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return timeExceeded.has(code) || code === memoryExceeded;
}

const memoryExceeded = "241";
