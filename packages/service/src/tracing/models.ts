import { HeddleError } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { objectEntries, stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { StoredObject, TraceStore } from "@heddle/trace-store";
import { checkFree } from "../objects/free-members.js";
import { kindHandlers } from "../objects/kind-handlers.js";
import { objectIdOf } from "../objects/object-id.js";
import { instanceOf } from "../objects/object-kind.js";
import type { ObjectKind } from "../objects/object-kind.js";
import { sourceDigest, sourceFile } from "../objects/source-digest.js";
import { referencedObject } from "../objects/referenced-object.js";
import type { Caller, Services } from "../services.js";

const className = "Model";
const ownMembers = ["name", "description", "files", "_type", "_class_name", "_bases"];

const models: ObjectKind<Schemas["ModelCreateBody"], Schemas["ModelCreateRes"], Schemas["ModelReadRes"]> = {
  among: { kind: "object", base_classes: [className, "LLMStructuredCompletionModel"] },

  async create(writer, { name, description = null, source_code, attributes }) {
    const objectId = objectIdOf(name);
    checkFree("attributes", attributes, ownMembers);
    const files = { [sourceFile]: await writer.putSource(source_code) };
    const members = {
      name: JSON.stringify(name),
      description: JSON.stringify(description),
      files: JSON.stringify(files),
    };
    const { ref, ...created } = await writer.publishInstance(objectId, className, members, attributes);
    return { ...created, model_ref: ref };
  },

  async sourceOf(store, { project_id, val }) {
    const own = sourceDigest(val);
    if (own !== undefined) return own;
    const op = await findPredictOp(store, project_id, val);
    return op && sourceDigest(op.val);
  },

  show: (object, source) => ({
    ...instanceOf(object),
    source_code: source,
    attributes: rawJson(otherMembers(object.val)),
  }),
};

/** Names under which client libraries keep the op that a model predicts with. */
const predictMembers = ["predict", "invoke", "infer", "forward"];

/** Returns the op that a stored model predicts with, if it has one in its project. */
async function findPredictOp(store: TraceStore, projectId: string, val: JsonText): Promise<StoredObject | undefined> {
  for (const member of predictMembers) {
    try {
      const found = await referencedObject({ store }, projectId, stringMember(val, member) ?? "");
      if (found.kind === "op") return found;
    } catch (error) {
      const leadsNowhere = error instanceof HeddleError && (error.code === "invalid" || error.code === "not_found");
      if (!leadsNowhere) throw error;
    }
  }
  return undefined;
}

/** The text of an object with the members that are attributes; `null` when there are none. */
function otherMembers(val: JsonText): JsonText {
  const others = objectEntries(val).filter(({ key }) => !ownMembers.includes(key));
  return others.length === 0 ? "null" : `{${others.map(({ key, value }) => `${JSON.stringify(key)}:${value}`).join()}}`;
}

export function modelHandlers(services: Services): TracingHandlers<Caller>["models"] {
  const { create, list, read, remove } = kindHandlers(services, models);
  return { modelCreate: create, modelList: list, modelRead: read, modelDelete: remove };
}
