import { writeSync } from "node:fs";

/**
 * Counts the writes to files that failed since the engine was loaded. chDB 26.7 continues after such a failure as if the
 * bytes had been written, also with ENOSPC and EIO: it would acknowledge an insert whose part lacks them.
 */
export const failedWritesSql =
  "SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'";

/**
 * Ends the host, without a response, when `count`, the result of {@link failedWritesSql}, is more than `atStart`. The
 * next start of the engine puts parts without all their bytes aside, and uses again what they were merged from.
 */
export function endOnFailedWrites(count: string, atStart: number): void {
  if (Number(count) === atStart) return;
  // Synchronous: the process ends with the next call.
  writeSync(2, "a write to the disk failed: it may be full\n");
  process.kill(process.pid, "SIGKILL");
}
