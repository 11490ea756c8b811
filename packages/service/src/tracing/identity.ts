import type { ProjectsRequest } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import { projectIdRule, splitProject } from "../access/project-id.js";
import type { Caller, Services } from "../services.js";
import { wireCaller } from "../wire/api-key.js";
import { RecentProjectCalls } from "./recent-project-calls.js";

export function identityHandlers({ control, store }: Services): TracingHandlers<Caller>["identity"] {
  const recent = new RecentProjectCalls(store);

  return {
    async meRead(_, caller) {
      return wireCaller(caller, await control.keys.describe(caller));
    },

    async projectsQuery({ body, signal }, caller) {
      const request = readableBy(caller, body);
      if (request === undefined) return { projects: [] };
      const { projects, has_more } = await control.projects.query(request);
      const calls = await recent.of(
        projects.map(({ project_id }) => project_id),
        signal,
      );
      const last = projects.at(-1);
      return {
        projects: projects.map(({ project_id, created_at }) => {
          const { call_count = 0, running = 0, last_started_at } = calls.get(project_id) ?? {};
          return {
            project_id,
            created_at: formatTime(created_at),
            call_count,
            ...(last_started_at !== undefined && { last_started_at: formatTime(last_started_at) }),
            running,
          };
        }),
        ...(has_more && last && { next: last.project_id }),
      };
    },
  };
}

interface ProjectsQuery {
  entity?: string | undefined;
  name_contains?: string | undefined;
  limit: number;
  after?: string | undefined;
}

/** What is asked for, of the projects that the caller may read; undefined where these are none. */
function readableBy(caller: Caller, { entity, name_contains, limit, after: cursor }: ProjectsQuery) {
  const after = cursor === undefined ? undefined : splitProject(cursor);
  if (cursor !== undefined && after === undefined)
    throw new HeddleError("unprocessable", projectIdRule, { loc: ["after"] });
  const request: ProjectsRequest = {
    entity,
    name_contains,
    limit,
    after: after && { entity: after.entity, name: after.project },
  };
  if (caller.owner) return request;
  if (entity !== undefined && entity !== caller.entity) return undefined;
  return { ...request, entity: caller.entity, names: caller.projects };
}
