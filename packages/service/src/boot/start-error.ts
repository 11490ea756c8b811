import type { HeddleError } from "@heddle/errors";
import { ConfigError } from "../config/config-error.js";
import { UnavailableError } from "../config/unavailable-error.js";
import { operatorLine } from "../operations/outages.js";

/** Why a service cannot start, in one line. */
export function startError(error: HeddleError): ConfigError {
  return error.code === "busy" ? new UnavailableError(operatorLine(error)) : new ConfigError(operatorLine(error));
}
