import type { ApiKey } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { checkReach, isWithinReach } from "../access/key-reach.js";
import { checkEntityName } from "../access/reserved-entities.js";
import type { Caller, Services } from "../services.js";
import { wireKey } from "../wire/api-key.js";

export function keyHandlers({ control }: Services): TracingHandlers<Caller>["keys"] {
  const { keys } = control;

  return {
    async keyList(_, caller) {
      const all = await keys.list(caller.owner ? undefined : caller.entity);
      return { keys: all.filter((key) => isWithinReach(caller, key)).map(wireKey) };
    },

    async keyCreate({ body }, caller) {
      const { user, role, projects, name, entity = caller.entity } = body;
      await confirm(caller, body.confirm_api_key);
      checkReach(caller, { entity, role, projects });
      await checkEntityName(control, entity);
      const { key, secret } = await keys.create({
        user_name: user,
        entity,
        role,
        ...(projects && { projects }),
        ...(name !== undefined && { name }),
      });
      return { key: wireKey(key), secret };
    },

    async keyUpdate({ params, body }, caller) {
      const { id } = await load(caller, params.key_id);
      return { key: wireKey(await keys.rename(id, body.name)) };
    },

    async keyRevoke({ params, body }, caller) {
      await confirm(caller, body.confirm_api_key);
      const { id } = await load(caller, params.key_id);
      return { key: wireKey(await keys.revoke(id)) };
    },
  };

  /** Throws `forbidden` for a session without its key: a page that misuses a session must not get a lasting key by it. */
  async function confirm({ session, key_id }: Caller, confirmation: string | undefined): Promise<void> {
    if (session === undefined) return;
    const confirmed = confirmation === undefined ? undefined : await keys.verify(confirmation);
    if (confirmed?.key_id === key_id) return;
    throw new HeddleError("forbidden", "must be the API key of this session", { loc: ["confirm_api_key"] });
  }

  /** Throws `not_found` for an unknown key and, in the same words, for one that reaches further than the caller. */
  async function load(caller: Caller, id: string): Promise<ApiKey> {
    const key = await keys.get(id);
    if (key !== undefined && isWithinReach(caller, key)) return key;
    throw new HeddleError("not_found", `no API key ${id}`, { loc: ["key_id"] });
  }
}
