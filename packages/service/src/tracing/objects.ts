import { rawJson } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { externalRefs, formatTime } from "@heddle/trace-model";
import type { StoredObject } from "@heddle/trace-store";
import { allowRead, allowWrite } from "../access.js";
import { internalProjects } from "../internal-refs.js";
import type { Caller, Services } from "../services.js";

export function objectHandlers({ control, store }: Services): TracingHandlers<Caller>["objects"] {
  return {
    async objCreate({ body: { obj } }, caller) {
      await allowWrite(control, caller, obj.project_id);
      const projectOf = await internalProjects(control, caller, obj.val);
      const { digest, object_id } = await store.objects.create({
        project_id: obj.project_id,
        object_id: obj.object_id,
        val: externalRefs(obj.val.text, projectOf),
        builtin_object_class: obj.builtin_object_class ?? obj.set_base_object_class,
        expected_digest: obj.expected_digest,
        wb_user_id: caller.user_id,
      });
      return { digest, object_id };
    },

    async objRead({ body }, caller) {
      allowRead(caller, body.project_id);
      return { obj: wireObject(await store.objects.read(body)) };
    },

    async objsQuery({ body }, caller) {
      allowRead(caller, body.project_id);
      return { objs: (await store.objects.query(body)).map(wireObject) };
    },

    async objDelete({ body }, caller) {
      await allowWrite(control, caller, body.project_id);
      return store.objects.delete(body);
    },

    async objAddTags({ params, body }, caller) {
      await allowWrite(control, caller, body.project_id);
      await store.objects.addTags({ ...body, ...params });
      return {};
    },

    async objRemoveTags({ params, body }, caller) {
      await allowWrite(control, caller, body.project_id);
      await store.objects.removeTags({ ...body, ...params });
      return {};
    },

    async objSetAliases({ params, body }, caller) {
      await allowWrite(control, caller, body.project_id);
      await store.objects.setAliases({ ...body, ...params });
      return {};
    },

    async objRemoveAliases({ params, body }, caller) {
      await allowWrite(control, caller, body.project_id);
      await store.objects.removeAliases({ ...body, ...params });
      return {};
    },

    async tagsList({ query }, caller) {
      allowRead(caller, query.project_id);
      return { tags: await store.objects.listTags(query.project_id) };
    },

    async aliasesList({ query }, caller) {
      allowRead(caller, query.project_id);
      return { aliases: await store.objects.listAliases(query.project_id) };
    },
  };
}

function wireObject(object: StoredObject): Schemas["ObjSchema"] {
  return { ...object, val: rawJson(object.val), created_at: formatTime(object.created_at) };
}
