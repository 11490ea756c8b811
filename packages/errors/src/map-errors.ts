import { HeddleError } from "./heddle-error.js";

/**
 * Runs a function. Each `HeddleError` that it throws or rejects with becomes what `change` returns for it. A stream that the
 * function returns is not covered.
 *
 * ```ts
 * await mapErrors((error) => error.with({ message: `line ${line}: ${error.message}` }), () => readRow(row));
 * ```
 */
export function mapErrors<T>(change: (error: HeddleError) => HeddleError, run: () => T): T;
export function mapErrors(change: (error: HeddleError) => HeddleError, run: () => unknown): unknown {
  const rethrow = (error: unknown): never => {
    throw error instanceof HeddleError ? change(error) : error;
  };
  try {
    const result = run();
    return result instanceof Promise ? result.catch(rethrow) : result;
  } catch (error) {
    return rethrow(error);
  }
}
