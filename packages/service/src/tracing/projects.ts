import type { TracingHandlers } from "@heddle/server-stub/tracing";
import type { Caller, Services } from "../services.js";

export function projectHandlers({ store }: Services): TracingHandlers<Caller>["projects"] {
  return {
    async projectStats({ body, signal }) {
      return store.projectStats(body, { signal });
    },

    async projectTtlSettingsRead({ body }) {
      return { retention_days: await store.retention.read(body.project_id) };
    },

    async projectTtlSettingsUpdate({ body }, caller) {
      const { project_id, retention_days = null } = body;
      await store.retention.update(project_id, retention_days, caller.user_id);
      return { retention_days };
    },
  };
}
