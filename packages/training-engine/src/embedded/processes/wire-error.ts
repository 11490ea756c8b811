import { EngineError } from "../../engine-error.js";

/** The one shape in which errors cross from a child to its parent. */
export interface WireError {
  code: EngineError["code"];
  message: string;
  path?: string;
}

/** What allocators say when there is no memory left: V8's for typed arrays, C++, onnxruntime. */
const outOfMemory = /allocation failed|bad_alloc|failed to allocate memory|out of memory/i;

/** Errors that are no `EngineError` are defects or a want of memory; the stack of a defect goes to stderr, and so to the log. */
export function toWireError(error: unknown): WireError {
  if (error instanceof EngineError && !(error.code === "failed" && outOfMemory.test(error.message))) {
    const { code, message, path } = error;
    return path === undefined ? { code, message } : { code, message, path };
  }
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${error instanceof Error ? (error.stack ?? message) : message}\n`);
  if (outOfMemory.test(message)) return { code: "too_large", message: `memory ran out: ${message}` };
  return { code: "failed", message };
}

export function fromWireError({ code, message, path }: WireError): EngineError {
  return new EngineError(code, message, path);
}
