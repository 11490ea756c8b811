import { HeddleError } from "@heddle/errors";
import type { RejectedSpan } from "./traces.js";

/** Most messages of a response. */
export const maxMessages = 20;

/** Runs one span's work; a span that cannot be used is noted and the others go on. An export that is too large is not. */
export function attempt<T>(work: () => T, rejected: RejectedSpan[]): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code === "too_large") throw error;
    rejected.push({ message: error.message });
    return undefined;
  }
}

/** Notes problems of what is stored nevertheless, as many as a response has. */
export function warn(of: string, problems: ReadonlyArray<string | undefined>, warnings: RejectedSpan[]): void {
  for (const problem of problems) {
    if (problem === undefined || warnings.length >= maxMessages) continue;
    warnings.push({ message: `${of}: ${problem}`, spans: 0 });
  }
}
