import { callerMay, type Caller, type ControlPlane } from "@heddle/control-plane";
import { Problem } from "@heddle/server-stub";

/** What a client presented: the password of Basic, the token of Bearer, or the `wandb-api-key` header. */
export interface Credentials {
  scheme: "basic" | "bearer" | "wandb-api-key" | "none";
  secret: string;
}

/** Answers 401 unless the key is known; the user part of Basic is ignored because clients put anything there. */
export async function authenticate(control: ControlPlane, credentials: Credentials): Promise<Caller> {
  const caller = credentials.scheme === "none" ? undefined : await control.keys.verify(credentials.secret);
  if (caller !== undefined) return caller;
  const reason =
    credentials.scheme === "none"
      ? "No API key: send it as Basic password, Bearer token or wandb-api-key header"
      : "Unknown or revoked API key";
  throw new Problem(401, reason, { headers: { "www-authenticate": 'Basic realm="heddle"' } });
}

/** `entity/project`, both parts non-empty and without further slashes. */
export function splitProject(project_id: string): { entity: string; project: string } | undefined {
  const slash = project_id.indexOf("/");
  if (slash <= 0 || slash === project_id.length - 1 || project_id.includes("/", slash + 1)) return undefined;
  return { entity: project_id.slice(0, slash), project: project_id.slice(slash + 1) };
}

/**
 * Decides whether the caller may touch a project, before anything is looked up in it: 403 whether or not it exists.
 * Returns the id, for use as the scope of every store call.
 */
export function allow(caller: Caller, project_id: string, need: "read" | "write"): string {
  const name = splitProject(project_id);
  if (name === undefined) {
    throw Problem.invalid([{ loc: ["project_id"], msg: 'must have the form "entity/project"', type: "value_error" }]);
  }
  if (!callerMay(caller, name.entity, name.project, need)) throw new Problem(403, "Forbidden");
  return project_id;
}

/** {@link allow} for writes; the first write makes the project. */
export async function allowWrite(control: ControlPlane, caller: Caller, project_id: string): Promise<string> {
  allow(caller, project_id, "write");
  const name = splitProject(project_id);
  if (name !== undefined) await control.projects.ensure(name.entity, name.project);
  return project_id;
}
