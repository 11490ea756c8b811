import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { stringMember } from "@heddle/exact-json";
import { kindHandlers } from "../objects/kind-handlers.js";
import { objectIdOf } from "../objects/object-id.js";
import { instanceOf } from "../objects/object-kind.js";
import type { ObjectKind } from "../objects/object-kind.js";
import type { Caller, Services } from "../services.js";

const className = "Dataset";

const datasets: ObjectKind<Schemas["DatasetCreateBody"], Schemas["DatasetCreateRes"], Schemas["DatasetReadRes"]> = {
  among: { kind: "object", base_classes: [className] },

  async create(writer, { name, description = null, rows }) {
    const objectId = name === undefined ? className : objectIdOf(name);
    const table = await writer.putRows(rows);
    const { object_id, digest, version_index } = await writer.publishInstance(objectId, className, {
      name: JSON.stringify(name ?? className),
      description: JSON.stringify(description),
      rows: JSON.stringify(table),
    });
    return { object_id, digest, version_index };
  },

  show: (object) => ({ ...instanceOf(object), rows: stringMember(object.val, "rows") ?? "" }),
};

export function datasetHandlers(services: Services): TracingHandlers<Caller>["datasets"] {
  const { create, list, read, remove } = kindHandlers(services, datasets);
  return { datasetCreate: create, datasetList: list, datasetRead: read, datasetDelete: remove };
}
