import type { Caller, ControlPlane } from "@heddle/control-plane";
import type { Interceptor } from "@heddle/server-stub";
import { splitProject } from "./project-id.js";

/**
 * Adds `X-Heddle-Unknown-Project` to the response of a read in a project that nothing was written to: its empty result
 * looks like that of any other project, and the name may be misspelt. Callers without the right get 403 before.
 */
export function reportUnknownProject({ projects }: Pick<ControlPlane, "projects">): Interceptor<Caller> {
  return (next) => async (request, context) => {
    const response = await next(request, context);
    const { access } = context;
    if (access?.right !== "read" || typeof access.project === "string" || response.status >= 500) return response;
    const { id, ofCaller } = access.project;
    const projectId = ofCaller === true ? `${context.caller?.entity}/${id}` : id;
    const name = splitProject(projectId);
    if (name === undefined || response.status === 403) return response;
    // The response is as it is: what cannot be looked up is not reported.
    const isKnown = await projects.get(name.entity, name.project).then(
      (project) => project !== undefined,
      () => true,
    );
    if (isKnown) return response;
    return { ...response, headers: { ...response.headers, "x-heddle-unknown-project": encodeURI(projectId) } };
  };
}
