import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { splitProject } from "../access/project-id.js";
import type { Caller, Services } from "../services.js";

export function projectHandlers({ control, store, projectDeletion }: Services): TracingHandlers<Caller>["projects"] {
  return {
    async projectDelete({ body }, caller) {
      const { project_id, expected_name } = body;
      const { entity = "", project: name = "" } = splitProject(project_id) ?? {};
      if (expected_name !== name)
        throw new HeddleError("unprocessable", `must be the name of the project, ${name}`, { loc: ["expected_name"] });
      const isKnown =
        control.projectDeletions.has(project_id) || (await control.projects.get(entity, name)) !== undefined;
      if (!isKnown) throw new HeddleError("not_found", `no project ${project_id}`, { loc: ["project_id"] });
      await projectDeletion.delete(project_id, caller.user_id);
      return { project_id };
    },

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
