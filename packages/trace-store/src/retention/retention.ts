import type { StoreContext } from "../context.js";
import type { Ingest } from "../ingest/ingest.js";
import { storedDays } from "../visibility/retention.js";

/** For how many days a project keeps its calls, counted from their start; null keeps them indefinitely. */
export interface Retention {
  read(projectId: string): Promise<number | null>;
  /**
   * Reads apply the setting at once, and maintenance deletes what has expired. What has expired under the old setting
   * stays deleted.
   */
  update(projectId: string, days: number | null, user: string): Promise<void>;
}

export function openRetention({ engine }: StoreContext, ingest: Pick<Ingest, "setRetention">): Retention {
  return {
    async read(projectId) {
      return await storedDays(engine, projectId);
    },
    update: ingest.setRetention,
  };
}
