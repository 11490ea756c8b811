import type { Caller, ControlPlane } from "@heddle/control-plane";
import type { HttpResponse, Interceptor, RequestContext } from "@heddle/server-stub";
import { splitProject } from "./project-id.js";

/**
 * Adds `X-Heddle-Unknown-Project` to the response of a read in a project that nothing was written to: its empty result
 * looks like that of any other project, and the name may be misspelt. Callers without the right get 403 before.
 */
export function reportUnknownProject({ projects }: Pick<ControlPlane, "projects">): Interceptor<Caller> {
  return (next) => (request, context) => {
    const responding = next(request, context);
    return context.operation?.access?.right === "read"
      ? responding.then((response) => report(response, context))
      : responding;
  };

  async function report(response: HttpResponse, { access, caller }: RequestContext<Caller>): Promise<HttpResponse> {
    if (access === undefined || typeof access.project === "string" || response.status >= 500) return response;
    const { id, ofCaller } = access.project;
    const projectId = ofCaller === true ? `${caller?.entity}/${id}` : id;
    const name = splitProject(projectId);
    if (name === undefined || response.status === 403) return response;
    // The response is as it is: what cannot be looked up is not reported.
    const isKnown = await projects.get(name.entity, name.project).then(
      (project) => project !== undefined,
      () => true,
    );
    if (isKnown) return response;
    return { ...response, headers: { ...response.headers, "x-heddle-unknown-project": encodeURI(projectId) } };
  }
}
