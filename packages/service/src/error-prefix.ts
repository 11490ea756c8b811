import { HeddleError } from "@heddle/errors";

/** Runs a function; the messages of its errors, thrown or rejected with, then begin with `prefix`, and lose their loc. */
export function withPrefix<T>(prefix: string, run: () => T): T;
export function withPrefix(prefix: string, run: () => unknown): unknown {
  try {
    const result = run();
    return result instanceof Promise ? result.catch((error: unknown) => rethrow(error, prefix)) : result;
  } catch (error) {
    return rethrow(error, prefix);
  }
}

function rethrow(error: unknown, prefix: string): never {
  if (!(error instanceof HeddleError)) throw error;
  const { code, message, details, cause } = error;
  throw new HeddleError(code, `${prefix}: ${message}`, { details, cause });
}
