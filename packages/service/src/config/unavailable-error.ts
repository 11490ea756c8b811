import { ConfigError } from "./config-error.js";

/** A store that the settings name does not respond now: it may in a moment. */
export class UnavailableError extends ConfigError {
  constructor(
    message: string,
    /** Which one, as clients may know it. */
    readonly reason: string,
  ) {
    super(message);
  }
}
