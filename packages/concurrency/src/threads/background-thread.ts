import { getPriority, setPriority } from "node:os";

/** Below the event loop and the engines, which others wait for. */
const niceness = 5;
const leastPriority = 19;

/**
 * Lets the other threads of the process go first where the processor is short. To be called by a worker thread, once; does
 * nothing where a priority belongs to the process as a whole.
 */
export function runInBackground(): void {
  if (process.platform !== "linux") return;
  try {
    // On Linux, 0 is the thread that calls.
    setPriority(0, Math.min(getPriority(0) + niceness, leastPriority));
  } catch {
    // Not permitted: the thread runs like the others.
  }
}
