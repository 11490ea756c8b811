import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { stringMember } from "@heddle/exact-json";
import { kindHandlers } from "../objects/kind-handlers.js";
import { objectIdOf } from "../objects/object-id.js";
import { instanceOf } from "../objects/object-kind.js";
import type { ObjectKind } from "../objects/object-kind.js";
import type { Caller, Services } from "../services.js";

const className = "Scorer";
const suffixes = { score: "_score", summarize: "_summarize" };

const scorers: ObjectKind<Schemas["ScorerCreateBody"], Schemas["ScorerCreateRes"], Schemas["ScorerReadRes"]> = {
  among: { kind: "object", base_classes: [className] },

  async create(writer, { name, description = null, op_source_code }) {
    const objectId = objectIdOf(name, Object.values(suffixes));
    const [score, summarize] = await Promise.all([
      writer.publishOp(`${objectId}${suffixes.score}`, op_source_code),
      writer.publishOp(`${objectId}${suffixes.summarize}`),
    ]);
    const { ref, ...created } = await writer.publishInstance(objectId, className, {
      name: JSON.stringify(name),
      description: JSON.stringify(description),
      score: JSON.stringify(score.ref),
      summarize: JSON.stringify(summarize.ref),
      column_map: "null",
    });
    return { ...created, scorer: ref };
  },

  show: (object) => ({ ...instanceOf(object), score_op: stringMember(object.val, "score") ?? "" }),
};

export function scorerHandlers(services: Services): TracingHandlers<Caller>["scorers"] {
  const { create, list, read, remove } = kindHandlers(services, scorers);
  return { scorerCreate: create, scorerList: list, scorerRead: read, scorerDelete: remove };
}
