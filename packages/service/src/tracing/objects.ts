import { withLoc } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { externalRefs, formatTime, objectIdInRef } from "@heddle/trace-model";
import type { StoredObject } from "@heddle/trace-store";
import { Computing } from "../computing/computing.js";
import { reserveForResponse } from "../limits/request-scope.js";
import { isBuiltInClass } from "../scorers/check-built-in-value.js";
import { internalProjects } from "../wire/internal-refs.js";
import type { Caller, Services } from "../services.js";

export function objectHandlers({ control, store }: Services): TracingHandlers<Caller>["objects"] {
  return {
    async objCreate({ body: { obj }, signal }, caller) {
      const projectOf = await internalProjects(control, caller, obj.val);
      const builtinClass = obj.builtin_object_class ?? obj.set_base_object_class;
      const val = externalRefs(obj.val.text, projectOf);
      const { digest, object_id } = await withLoc(["obj"], async () => {
        if (isBuiltInClass(builtinClass)) {
          await Computing.ofRequest().run("checkBuiltInValue", { className: builtinClass, val }, { signal });
        }
        return store.objects.create({
          project_id: obj.project_id,
          object_id: obj.object_id,
          val,
          builtin_object_class: builtinClass,
          expected_digest: obj.expected_digest,
          wb_user_id: caller.user_id,
        });
      });
      return { digest, object_id };
    },

    async objRead({ body, signal }) {
      const request = { ...body, object_id: objectIdInRef(body.object_id) };
      return { obj: wireObject(await store.objects.read(request, { signal, reserve: reserveForResponse([]) })) };
    },

    async objsQuery({ body, signal }) {
      const objects = await store.objects.query(body, { signal, reserve: reserveForResponse(["limit"]) });
      return { objs: objects.map(wireObject) };
    },

    async objDelete({ body }) {
      return store.objects.delete(body);
    },

    async objAddTags({ params, body }) {
      await store.objects.addTags({ ...body, ...params });
      return {};
    },

    async objRemoveTags({ params, body }) {
      await store.objects.removeTags({ ...body, ...params });
      return {};
    },

    async objSetAliases({ params, body }) {
      await store.objects.setAliases({ ...body, ...params });
      return {};
    },

    async objRemoveAliases({ params, body }) {
      await store.objects.removeAliases({ ...body, ...params });
      return {};
    },

    async tagsList({ query }) {
      return { tags: await store.objects.listTags(query.project_id) };
    },

    async aliasesList({ query }) {
      return { aliases: await store.objects.listAliases(query.project_id) };
    },
  };
}

function wireObject(object: StoredObject): Schemas["ObjSchema"] {
  return { ...object, val: rawJson(object.val), created_at: formatTime(object.created_at) };
}
