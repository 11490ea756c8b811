import type { TraceStore } from "@heddle/trace-store";
import type { JobQueue } from "./runner.js";

/** The store, with deletions that also cancel the jobs of the calls: the job of an evaluation run has the id of its call. */
export function cancelWithCalls(store: TraceStore, jobs: JobQueue): TraceStore {
  return {
    ...store,
    calls: {
      ...store.calls,
      async delete(projectId, ids, user) {
        const deleted = await store.calls.delete(projectId, ids, user);
        await jobs.cancel(projectId, ids);
        return deleted;
      },
    },
  };
}
