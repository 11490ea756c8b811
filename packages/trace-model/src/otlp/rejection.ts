import { HeddleError } from "@heddle/errors";
import type { RejectedSpan } from "./traces.js";

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
