import { EngineError } from "../../engine-error.js";

/** An error as sent from a child process or worker thread to its parent. */
export interface WireError {
  code: EngineError["code"];
  message: string;
  path?: string;
}

/** Messages of failed allocations: of V8 for typed arrays, of C++ and of onnxruntime. */
const outOfMemory = /allocation failed|bad_alloc|failed to allocate memory|out of memory/i;

/**
 * Converts an error. An error other than `EngineError` is a defect or a failed allocation; its stack is written to
 * stderr, and from there to the log.
 */
export function toWireError(error: unknown): WireError {
  if (error instanceof EngineError && !(error.code === "failed" && outOfMemory.test(error.message))) {
    const { code, message, path } = error;
    return path === undefined ? { code, message } : { code, message, path };
  }
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${error instanceof Error ? (error.stack ?? message) : message}\n`);
  if (outOfMemory.test(message)) return { code: "too_large", message: `out of memory: ${message}` };
  return { code: "failed", message };
}

export function fromWireError({ code, message, path }: WireError): EngineError {
  return new EngineError(code, message, path);
}
