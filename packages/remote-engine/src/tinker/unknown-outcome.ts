import { HeddleError } from "@heddle/errors";

/**
 * Creates the error of a call that the server may or may not have carried out. The trainer that it belongs to must not
 * be used again: a new one is opened from the last saved state.
 */
export function unknownOutcome(reason: string, cause?: unknown): HeddleError {
  return new HeddleError("failed", `${reason}. It is unknown whether the operation was carried out`, {
    details: { outcome: "unknown" },
    cause,
  });
}
