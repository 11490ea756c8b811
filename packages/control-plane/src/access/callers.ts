export type Role = "admin" | "write" | "read";

/** The user who made a request, according to its key. */
export interface Caller {
  /** Of the key; `owner` for the owner key. */
  key_id: string;
  user_id: string;
  user_name: string;
  entity: string;
  role: Role;
  /** Names of the projects inside the entity that the key is limited to; absent = all of the entity. */
  projects?: readonly string[];
  /** The owner key: every entity and project of the instance. */
  owner: boolean;
  /** The session of a browser by which the request has the rights of the key; absent where it sent the key. */
  session?: { id: string; expires_at: bigint };
  /** The share by which the request may read one trace of one project, and nothing else. */
  share?: { id: string; project_id: string; trace_id: string; redact: readonly string[] };
}

const ranks: Record<Role, number> = { read: 0, write: 1, admin: 2 };

/** Whether the caller's key has a role, wherever it is valid. */
export function hasRole(caller: Caller, needs: Role): boolean {
  return caller.owner || ranks[caller.role] >= ranks[needs];
}

/** Whether a caller may do what needs a role in a project, which need not exist. */
export function callerMay(caller: Caller, entity: string, project: string, needs: Role): boolean {
  if (caller.owner) return true;
  if (caller.entity !== entity || !hasRole(caller, needs)) return false;
  return caller.projects === undefined || caller.projects.includes(project);
}
