import type { Operation } from "../contract.js";
import type { Fixture } from "../fixture.js";

/** One thing that is checked of an operation. */
export interface Case {
  name: string;
  /** Throws `CheckFailure`, `CheckSkipped` or `NotImplemented`. */
  run: () => Promise<void>;
}

/** Returns what one subject has to check of an operation. */
export type Check = (operation: Operation, fixture: Fixture) => Case[];
