import { callerMay, hasRole } from "@heddle/control-plane";
import type { Caller, ControlPlane, Role } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { Problem } from "@heddle/server-stub";
import type { Access, NamedProject } from "@heddle/server-stub";
import { projectIdRule, splitProject } from "./project-id.js";

/**
 * Throws `forbidden` unless the caller has the right that the operation declares, whether or not the project exists. Called
 * before the handler, so that nothing is looked up for callers without the right.
 *
 * Operations whose items name projects need the role here; {@link ItemAccess} checks the projects. Those that name a record
 * by its id need it as well; {@link loadModel} and its like check the project of the record.
 */
export function authorize({ right, project }: Access, caller: Caller): void {
  if (typeof project === "string") {
    if (!hasRole(caller, right)) throw forbidden();
    return;
  }
  const id = projectIdIn(project, caller);
  if (splitProject(id) === undefined) {
    throw Problem.invalid([{ loc: [...project.loc], msg: projectIdRule, type: "value_error" }]);
  }
  checkProject(caller, right, id);
}

/** Throws `conflict` for a project that is being deleted, except to the request that waits for it. */
export function checkNotDeleted(control: ControlPlane, { operation, project }: Access, caller: Caller): void {
  if (typeof project !== "string" && operation !== "projectDelete") checkUsable(control, projectIdIn(project, caller));
}

/** Throws `conflict` for a project that is being deleted. */
export function checkUsable({ projectDeletions }: ControlPlane, projectId: string): void {
  if (projectDeletions.has(projectId)) throw new HeddleError("conflict", `the project ${projectId} is being deleted`);
}

/** Makes the project of a write that succeeded, unless that has deleted it. */
export function recordProject(control: ControlPlane, access: Access, caller: Caller): Promise<void> | undefined {
  const { operation, right, project } = access;
  if (right === "read" || typeof project === "string" || operation === "projectDelete") return undefined;
  return ensureProject(control, projectIdIn(project, caller));
}

/** Returns `entity/project`, with the entity of the caller where the request leaves it out. */
function projectIdIn({ id, ofCaller }: NamedProject, caller: Caller): string {
  return ofCaller === true ? `${caller.entity}/${id}` : id;
}

/** Throws `unprocessable` for text that is not a project id, `forbidden` when the caller lacks the right in the project. */
export function checkProject(caller: Caller, right: Role, projectId: string): void {
  const name = splitProject(projectId);
  if (name === undefined) throw new HeddleError("unprocessable", projectIdRule, { loc: ["project_id"] });
  if (!callerMay(caller, name.entity, name.project, right)) throw forbidden();
}

export function forbidden(): HeddleError {
  return new HeddleError("forbidden", "Forbidden");
}

/** Whether the caller may read the project; false for text that is not a project id. */
export function mayRead(caller: Caller, projectId: string): boolean {
  const name = splitProject(projectId);
  return name !== undefined && callerMay(caller, name.entity, name.project, "read");
}

/** Makes the project if there is none; its id was checked before. */
export function ensureProject(control: ControlPlane, projectId: string): Promise<void> | undefined {
  // Nearly every write is in a project that is known, and needs no promise for that.
  if (control.projects.isRemembered(projectId)) return undefined;
  const name = splitProject(projectId);
  return name === undefined ? undefined : control.projects.ensure(name.entity, name.project).then(() => undefined);
}
