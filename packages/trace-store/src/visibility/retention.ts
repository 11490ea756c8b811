import type { CallScope } from "./visible-calls.js";

/** Whether readers may still see a call that started then, by the retention of its project. */
export function isRetained({ project_id, now, inFlight }: CallScope): (startedAt: bigint) => boolean {
  const retention = inFlight.retentionUs(project_id);
  return (startedAt) => retention === undefined || startedAt > now - retention;
}
