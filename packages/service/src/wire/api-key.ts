import type { ApiKey, Caller } from "@heddle/control-plane";
import type { ApiKeySchema, MeRes } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";

export function wireKey(key: ApiKey): ApiKeySchema {
  const { id, prefix, name, user_id, user_name, entity, role, projects, created_at, last_used_at, revoked_at } = key;
  return {
    id,
    prefix,
    name,
    user: { id: user_id, name: user_name },
    entity,
    role,
    ...(projects && { projects: [...projects] }),
    created_at: formatTime(created_at),
    ...(last_used_at !== undefined && { last_used_at: formatTime(last_used_at) }),
    ...(revoked_at !== undefined && { revoked_at: formatTime(revoked_at) }),
  };
}

export function wireCaller(caller: Caller, key: { prefix: string; name: string }): MeRes {
  const { key_id, user_id, user_name, entity, role, projects, owner, session } = caller;
  return {
    user: { id: user_id, name: user_name },
    entity,
    role,
    ...(projects && { projects: [...projects] }),
    ...(owner && { owner }),
    key: { ...(!owner && { id: key_id }), ...key },
    ...(session && { session: { expires_at: formatTime(session.expires_at) } }),
  };
}
