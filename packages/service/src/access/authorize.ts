import { callerMay, hasRole, type Caller, type ControlPlane, type Role } from "@heddle/control-plane";
import { Problem, type Access } from "@heddle/server-stub";
import { splitProject } from "./project-id.js";

/**
 * Throws 403 unless the caller has the right that the operation declares, whether or not the project exists. Called
 * before the handler, so that nothing is looked up for callers without the right.
 *
 * Operations whose items name projects need the role here; {@link ItemAccess} checks the projects.
 */
export function authorize({ right, project }: Access, caller: Caller): void {
  if (typeof project === "string") {
    if (!hasRole(caller, right)) throw new Problem(403, "Forbidden");
  } else checkProject(caller, right, project.id, project.loc);
}

/** Makes the project of a write that succeeded. */
export async function recordProject(control: ControlPlane, { right, project }: Access): Promise<void> {
  if (right === "read" || typeof project === "string") return;
  await ensureProject(control, project.id);
}

/** Throws 422 for text that is no project id, and 403 when the caller lacks the right in the project. */
export function checkProject(caller: Caller, right: Role, project_id: string, loc: readonly string[]): void {
  const name = splitProject(project_id);
  if (name === undefined) {
    const msg =
      'must have the form "entity/project": two names of 1 to 256 characters, none of them a control character';
    throw Problem.invalid([{ loc: [...loc], msg, type: "value_error" }]);
  }
  if (!callerMay(caller, name.entity, name.project, right)) throw new Problem(403, "Forbidden");
}

/** Whether the caller may read the project; false for text that is no project id. */
export function mayRead(caller: Caller, project_id: string): boolean {
  const name = splitProject(project_id);
  return name !== undefined && callerMay(caller, name.entity, name.project, "read");
}

/** Makes the project if there is none; its id was checked before. */
export async function ensureProject(control: ControlPlane, project_id: string): Promise<void> {
  const name = splitProject(project_id);
  if (name !== undefined) await control.projects.ensure(name.entity, name.project);
}
