import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

// The thread of a child process that tells the parent that the process lives, also while its main thread computes.

export interface PulseData {
  /** Counts the turns of the main thread's event loop. */
  turns: Int32Array;
  descriptor: number;
  everyMs: number;
}

const { turns, descriptor, everyMs } = workerData as PulseData;
let seen = -1;

beat();
setInterval(beat, everyMs);

/** One byte: 1 when the main thread has turned since the last one. */
function beat(): void {
  const now = Atomics.load(turns, 0);
  try {
    writeSync(descriptor, Uint8Array.of(now === seen ? 0 : 1));
    seen = now;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EAGAIN") return;
    // Nobody reads any more: the parent is gone, and the main thread may not see it for long.
    process.kill(process.pid, "SIGKILL");
  }
}
