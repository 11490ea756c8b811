import type { InFlight } from "../stored-calls/in-flight.js";

/** Whose calls, seen when. */
export interface CallScope {
  project_id: string;
  /** Microseconds since 1970; calls that expired before are not visible. */
  now: bigint;
  inFlight: InFlight;
}
