/** What of the store need not be looked at again. Each only says less than is true: without it, more is read. */
export interface Watermarks {
  /** Every row up to this version is what its commit wanted it to be, and its call there once. */
  consistent: bigint;
  /** What was hidden up to this version is gone from `calls` and `call_parts`. */
  compacted: bigint;
  /** Names that were given before this version have their calls. */
  named: bigint;
  /** `call_ids` has the complete calls that started at this time, in microseconds, or later, … */
  idsFrom: bigint;
  /** … if their version is not above this one. */
  indexed: bigint;
  /** How many parts of `call_ids` the engine had put aside by then: with another one, some are missing. */
  idsLost: bigint;
}

export const noWatermarks: Watermarks = {
  consistent: 0n,
  compacted: 0n,
  named: 0n,
  idsFrom: 2n ** 62n,
  indexed: 0n,
  idsLost: 0n,
};

/** Before every call. */
export const allIds = -(2n ** 62n);
