import type { Key } from "./use-keys.js";

export interface Member {
  id: string;
  name: string;
  /** The most that any key of the user may do in the project. */
  role: Key["role"];
  keys: Key[];
  /** Whether a key is limited to some projects, of which this is one. */
  isLimited: boolean;
  lastUsedAt: string | undefined;
}

const ranks: Record<Key["role"], number> = { read: 0, write: 1, admin: 2 };

/** Users with a valid key that reaches a project, those with most rights first. */
export function membersOf(projectId: string, keys: readonly Key[]): Member[] {
  const slash = projectId.indexOf("/");
  const [entity, project] = [projectId.slice(0, slash), projectId.slice(slash + 1)];
  const members = new Map<string, Member>();
  for (const key of keys) {
    if (key.revoked_at !== undefined || key.entity !== entity) continue;
    if (key.projects !== undefined && !key.projects.includes(project)) continue;
    const { id, name } = key.user;
    const member = members.get(id);
    const isLimited = key.projects !== undefined;
    if (member === undefined) {
      members.set(id, { id, name, role: key.role, keys: [key], isLimited, lastUsedAt: key.last_used_at });
      continue;
    }
    member.keys.push(key);
    member.isLimited &&= isLimited;
    if (ranks[key.role] > ranks[member.role]) member.role = key.role;
    if ((key.last_used_at ?? "") > (member.lastUsedAt ?? "")) member.lastUsedAt = key.last_used_at;
  }
  return [...members.values()].toSorted((a, b) => ranks[b.role] - ranks[a.role] || (a.name < b.name ? -1 : 1));
}
