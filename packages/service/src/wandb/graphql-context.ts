import { callerMay } from "@heddle/control-plane";
import type { Caller, Role } from "@heddle/control-plane";
import { Problem } from "@heddle/server-stub";
import type { HttpRequest } from "@heddle/server-stub";
import { projectIdRule, splitProject } from "../access/project-id.js";
import { currentScope } from "../limits/request-scope.js";
import { publicUrl } from "../http/public-url.js";
import type { WandbServices } from "./wandb-services.js";
import { GraphqlError } from "./graphql/error.js";
import { GraphqlWork } from "./graphql/work.js";
import { signedPathOf } from "./signed-urls.js";
import type { Grant } from "./signed-urls.js";

/** Who asks, and what for. */
export interface GraphqlContext {
  services: WandbServices;
  caller: Caller;
  /** The entity where a request names none. */
  entity: string;
  /** Returns the field of the URL of a grant, which ends with the key of the caller: signed where it is selected. */
  urlOf: (grant: Grant) => () => string;
  /** What the request has used so far. */
  work: GraphqlWork;
}

export function contextOf(services: WandbServices, caller: Caller, request: HttpRequest): GraphqlContext {
  const entity = caller.owner ? services.config.defaultEntity : caller.entity;
  const { urlSignatures } = services.control;
  const work = new GraphqlWork(currentScope(), services.config.limits, request.signal);
  const urlOf = (grant: Grant) => () => {
    work.charge("signature");
    return publicUrl(services.config, request) + signedPathOf(urlSignatures, caller.key_id, grant);
  };
  return { services, caller, entity, urlOf, work };
}

/**
 * Whether the caller has the right in the project, `entity/project`; false for text that is not a project id. Throws 409, as
 * operations do, for a project that is being deleted.
 */
export function may({ caller, services }: GraphqlContext, projectId: string, right: Role): boolean {
  const name = splitProject(projectId);
  if (name === undefined || !callerMay(caller, name.entity, name.project, right)) return false;
  if (services.control.projectDeletions.has(projectId))
    throw new Problem(409, `the project ${projectId} is being deleted`);
  return true;
}

/** Throws {@link GraphqlError} for text that is not a project id. */
export function requireProjectId(projectId: string): void {
  if (splitProject(projectId) === undefined) throw new GraphqlError(projectIdRule);
}

/** Throws {@link GraphqlError} unless the caller may write to the project, whether or not it exists. */
export function requireWrite(context: GraphqlContext, projectId: string): void {
  requireProjectId(projectId);
  if (!may(context, projectId, "write")) {
    throw new GraphqlError(`this key may not write to ${projectId}`, "PERMISSION_ERROR");
  }
}
