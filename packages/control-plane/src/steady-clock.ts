/**
 * Microseconds since 1970 on a clock that nobody sets: what the clock of the machine showed when the process asked first, and
 * what has passed since on the monotonic one. For what ends or is due after a while: set back or forward, the clock of
 * the machine would hold it for as long, or end it at once.
 */
export function steadyClock(
  wallMs: () => number = Date.now,
  monotonicMs: () => number = () => performance.now(),
): () => bigint {
  const offsetMs = wallMs() - monotonicMs();
  return () => BigInt(Math.round((offsetMs + monotonicMs()) * 1000));
}
