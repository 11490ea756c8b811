import { HeddleError } from "@heddle/errors";
import type { RejectedSpan } from "./traces.js";

/** Runs one span's work; a span that cannot be used is noted and the others go on. */
export function attempt<T>(work: () => T, rejected: RejectedSpan[]): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    rejected.push({ message: error.message });
    return undefined;
  }
}
