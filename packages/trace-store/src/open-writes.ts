import type { VersionClock } from "./version-clock.js";

/** The changes of calls and feedback that are under way. */
export interface OpenWrites {
  /** To be called before a change issues its versions. The result is called when its rows are visible, or never will be. */
  begin(): () => void;
  /** The greatest version below every change that is under way: up to here nothing is missing. */
  settled(): bigint;
}

/** `onEnd` is called when a change has ended. */
export function openWrites(clock: VersionClock, onEnd: () => void): OpenWrites {
  /** The last version before each change. */
  const begun = new Map<object, bigint>();
  return {
    begin() {
      const change = {};
      begun.set(change, clock.last());
      return () => {
        if (begun.delete(change)) onEnd();
      };
    },
    settled: () => [...begun.values()].reduce((least, version) => (version < least ? version : least), clock.last()),
  };
}
