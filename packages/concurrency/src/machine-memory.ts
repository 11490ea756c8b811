import { totalmem } from "node:os";

/** Memory of the container if it has a limit, else of the machine, in bytes. */
export function machineMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
