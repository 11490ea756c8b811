import { keyLocks } from "@heddle/concurrency";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { stringMember } from "@heddle/exact-json";
import { kindHandlers } from "../objects/kind-handlers.js";
import { objectIdOf } from "../objects/object-id.js";
import { instanceOf } from "../objects/object-kind.js";
import type { ObjectKind } from "../objects/object-kind.js";
import { MatchingActions } from "../matching/act-on-matching.js";
import type { Action } from "../matching/act-on-matching.js";
import { addRows } from "../matching/add-rows.js";
import { datasetColumns } from "../matching/dataset-rows.js";
import type { Caller, Services } from "../services.js";
import { projectOfPath } from "../wire/project-of-path.js";

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
  const { control, store } = services;
  const { create, list, read, remove } = kindHandlers(services, datasets);
  const matching = new MatchingActions({ control, store });
  const oneByOne = keyLocks();
  return {
    datasetCreate: create,
    datasetList: list,
    datasetRead: read,
    datasetDelete: remove,

    async datasetAddMatching({ params, body, headers, signal }, caller) {
      const projectId = projectOfPath(params);
      const { object_id } = params;
      const columns = datasetColumns(body.columns);
      const request = {
        project_id: projectId,
        operation: "datasetAddMatching",
        body,
        parameters: { object_id },
        signal,
      };
      const action: Action<string, Schemas["DatasetCreateRes"]> = {
        basis: async () =>
          (await store.objects.read({ ...version, digest: "latest" }, { among: datasets.among })).digest,
        act: async (ids, base) =>
          await addRows(services, { ...version, base, ids, columns, userId: caller.user_id, signal }),
      };
      const version = { project_id: projectId, object_id };
      // Two requests at once would add to the same version.
      return await oneByOne(
        `${projectId}/${object_id}`,
        async () => await matching.carryOut({ ...request, retryId: headers["X-Weave-Retry-Id"] }, action),
      );
    },
  };
}
