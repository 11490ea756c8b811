import { HeddleError } from "@heddle/errors";
import { ConfigError } from "../config/config-error.js";
import { UnavailableError } from "../config/unavailable-error.js";
import { operatorLine } from "../operations/outages.js";

/** A store does not respond now: it may in a moment. */
export const isPassing = (error: unknown): error is HeddleError =>
  error instanceof HeddleError && error.code === "busy";

/** Why a service cannot start, in one line. */
export function startError(error: HeddleError): ConfigError {
  return isPassing(error)
    ? new UnavailableError(operatorLine(error), error.message)
    : new ConfigError(operatorLine(error));
}
