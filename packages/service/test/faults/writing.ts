import type { Ledger } from "./ledger.js";
import type { Wire } from "./wire.js";

export interface Writing {
  wire: Wire;
  project_id: string;
  ledger: Ledger;
  random: () => number;
  /** Writers stop after the request under way; what they must send again they send until it is acknowledged. */
  stopped: () => boolean;
}
