/** A time on two clocks: the monotonic one stops while a machine sleeps, the other may be changed. */
export interface Moment {
  /** Milliseconds of `performance.now()`. */
  monotonic: number;
  /** Milliseconds since 1970. */
  wall: number;
}

/** The moment at which the monotonic clock showed a time; now, without it. */
export function momentAt(monotonic = performance.now()): Moment {
  return { monotonic, wall: Date.now() - (performance.now() - monotonic) };
}

/** Milliseconds since then, on the clock that says more: setting a clock back makes nothing more recent. */
export function msSince({ monotonic, wall }: Moment, now = Date.now()): number {
  return Math.max(performance.now() - monotonic, now - wall);
}

const loadedAt = momentAt();

/** Milliseconds since 1970, which never go back while the process runs: for what expires at a stored time. */
export function steadyNow(): number {
  return loadedAt.wall + msSince(loadedAt);
}
