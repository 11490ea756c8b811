import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { kindHandlers } from "../objects/kind-handlers.js";
import { objectIdOf } from "../objects/object-id.js";
import { versionOf } from "../objects/object-kind.js";
import type { ObjectKind } from "../objects/object-kind.js";
import { sourceDigest } from "../objects/source-digest.js";
import type { Caller, Services } from "../services.js";

const ops: ObjectKind<Schemas["OpCreateBody"], Schemas["OpCreateRes"], Schemas["OpReadRes"]> = {
  among: { kind: "op" },
  latest_only: true,

  async create(writer, { name, source_code }) {
    const objectId = name === undefined ? "Op" : objectIdOf(name);
    const { object_id, digest, version_index } = await writer.publishOp(objectId, source_code);
    return { object_id, digest, version_index };
  },

  sourceOf: async (_store, { val }) => sourceDigest(val),
  show: (object, code) => ({ ...versionOf(object), code }),
};

export function opHandlers(services: Services): TracingHandlers<Caller>["ops"] {
  const { create, list, read, remove } = kindHandlers(services, ops);
  return { opCreate: create, opList: list, opRead: read, opDelete: remove };
}
