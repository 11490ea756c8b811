import type { Caller, Role } from "@heddle/control-plane";
import { hasRole } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";

/** Where a key is valid, and for what. */
interface KeyReach {
  entity: string;
  role: Role;
  projects?: readonly string[] | undefined;
}

/** Whether a key may do nothing that the caller may not do. */
export function isWithinReach(caller: Caller, { entity, role, projects }: KeyReach): boolean {
  if (caller.owner) return true;
  if (entity !== caller.entity || !hasRole(caller, role)) return false;
  const { projects: own } = caller;
  return own === undefined || (projects?.every((name) => own.includes(name)) ?? false);
}

/** Throws `forbidden` for a key that might do more than the caller. */
export function checkReach(caller: Caller, key: KeyReach): void {
  if (isWithinReach(caller, key)) return;
  const where = caller.projects === undefined ? "" : ` and the projects ${caller.projects.join(", ")}`;
  throw new HeddleError(
    "forbidden",
    `A key cannot reach further than the one that makes it, which is limited to the entity ${caller.entity}${where}`,
  );
}
