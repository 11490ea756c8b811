import { useEffect, useRef } from "react";
import { onceSeenAfter, waitBeforeRetry } from "./retry-later.js";

/** Tries again what has failed, for as long as that may pass. Each failure is another object. */
export function useRetry(error: unknown, retry: () => unknown): void {
  const failures = useRef(0);
  const latest = useRef(retry);
  useEffect(() => {
    latest.current = retry;
  });
  useEffect(() => {
    failures.current = error === undefined ? 0 : failures.current + 1;
    const wait = waitBeforeRetry(error, failures.current);
    return wait === undefined ? undefined : onceSeenAfter(wait, () => void latest.current());
  }, [error]);
}
