import type { TimeSpan } from "./time-spans.js";

/** The version up to which a deleted call is hidden: there is none above it. */
export const everyVersion = 2n ** 64n - 1n;

/** What readers must not see of a call. */
export interface HiddenCall {
  /** All its versions up to this one. */
  upTo: bigint;
  /** When these start. */
  started: TimeSpan;
  /** How many rows of the table these are, at most. */
  rows: number;
}
