import { callerMay, isPathName, type Caller, type ControlPlane } from "@heddle/control-plane";
import { Problem, type Credentials } from "@heddle/server-stub";

/** Answers 401 unless the key is known. */
export async function authenticate(control: ControlPlane, credentials: Credentials): Promise<Caller> {
  const caller = credentials.scheme === "none" ? undefined : await control.keys.verify(credentials.secret);
  if (caller !== undefined) return caller;
  const reason =
    credentials.scheme === "none"
      ? "No API key: send it as Basic password, Bearer token or wandb-api-key header"
      : "Unknown or revoked API key";
  throw new Problem(401, reason, { headers: { "www-authenticate": 'Basic realm="heddle"' } });
}

/** `entity/project`, each a name that the control plane can keep; undefined for any other text. */
export function splitProject(project_id: string): { entity: string; project: string } | undefined {
  const slash = project_id.indexOf("/");
  const [entity, project] = [project_id.slice(0, Math.max(slash, 0)), project_id.slice(slash + 1)];
  return isPathName(entity) && isPathName(project) ? { entity, project } : undefined;
}

/** Whether the caller may read the project; false for text that is no project id. */
export function mayRead(caller: Caller, project_id: string): boolean {
  const name = splitProject(project_id);
  return name !== undefined && callerMay(caller, name.entity, name.project, "read");
}

/** Refuses the caller before anything is looked up in the project: 403 whether or not it exists. */
export function allowRead(caller: Caller, project_id: string): void {
  allow(caller, project_id, "read");
}

/** {@link allowRead} for writes; the first write makes the project. */
export async function allowWrite(control: ControlPlane, caller: Caller, project_id: string): Promise<void> {
  const { entity, project } = allow(caller, project_id, "write");
  await control.projects.ensure(entity, project);
}

function allow(caller: Caller, project_id: string, need: "read" | "write"): { entity: string; project: string } {
  const name = splitProject(project_id);
  if (name === undefined) {
    const msg =
      'must have the form "entity/project": two names of 1 to 256 characters, none of them a control character';
    throw Problem.invalid([{ loc: ["body", "project_id"], msg, type: "value_error" }]);
  }
  if (!callerMay(caller, name.entity, name.project, need)) throw new Problem(403, "Forbidden");
  return name;
}
