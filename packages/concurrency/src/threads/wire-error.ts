import { inspect } from "node:util";
import type { ErrorCode, Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";

/** A `HeddleError` as sent from a child process or worker thread to its parent, without its cause. */
export interface WireError {
  code: ErrorCode;
  message: string;
  loc?: Loc;
  details?: Readonly<Record<string, unknown>>;
}

/** Messages of failed allocations: of V8 for typed arrays, of C++ and of onnxruntime. */
const outOfMemory = /allocation failed|bad_alloc|failed to allocate memory|out of memory/i;

/**
 * Converts an error. An error other than `HeddleError` is a defect or a failed allocation: its stack is written to
 * stderr, and from there to the log. So is the cause of a `HeddleError`, which may name file paths.
 */
export function toWireError(error: unknown): WireError {
  if (error instanceof HeddleError && !(error.code === "failed" && outOfMemory.test(error.message))) {
    const { code, message, loc, details, cause } = error;
    if (cause !== undefined) process.stderr.write(`${message}: ${inspect(cause)}\n`);
    return { code, message, ...(loc && { loc }), ...(details && { details }) };
  }
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${error instanceof Error ? (error.stack ?? message) : message}\n`);
  if (outOfMemory.test(message)) return { code: "too_large", message: `out of memory: ${message}` };
  return { code: "failed", message };
}

export function fromWireError({ code, message, loc, details }: WireError): HeddleError {
  return new HeddleError(code, message, { loc, details });
}
