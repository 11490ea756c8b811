import { forEachConcurrently } from "@heddle/concurrency";
import { HeddleError, withLoc } from "@heddle/errors";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { arrayItems, memberOf, stringMember, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { TraceStore } from "@heddle/trace-store";
import { checkFree } from "../objects/free-members.js";
import { kindHandlers } from "../objects/kind-handlers.js";
import { objectIdOf } from "../objects/object-id.js";
import { instanceOf, textOrNull } from "../objects/object-kind.js";
import type { ObjectKind } from "../objects/object-kind.js";
import { referencedObject } from "../objects/referenced-object.js";
import type { Caller, Services } from "../services.js";

type CreateBody = Schemas["EvaluationCreateBody"];

const className = "Evaluation";
const suffixes = { evaluate: ".evaluate", predict_and_score: ".predict_and_score", summarize: ".summarize" };
const ownMembers = [
  "name",
  "description",
  "dataset",
  "scorers",
  "trials",
  "evaluation_name",
  "evaluate",
  "predict_and_score",
  "summarize",
  "_type",
  "_class_name",
  "_bases",
];
/** What the value of an evaluation has where the user gives nothing. */
const defaults = { metadata: "null", preprocess_model_input: "null", on_complete: "null" };

const evaluations: ObjectKind<CreateBody, Schemas["EvaluationCreateRes"], Schemas["EvaluationReadRes"]> = {
  among: { kind: "object", base_classes: [className] },

  async create(writer, body, store) {
    const { name, description = null, trials, evaluation_name = null, eval_attributes } = body;
    const objectId = objectIdOf(name, Object.values(suffixes));
    checkFree("eval_attributes", eval_attributes, ownMembers);
    const dataset = writer.storedRef(body.dataset);
    const scorers = (body.scorers ?? []).map((ref) => writer.storedRef(ref));
    await checkParts(store, writer.project_id, dataset, scorers);
    const ops = await Promise.all(
      Object.entries(suffixes).map(async ([member, suffix]) => {
        const { ref } = await writer.publishOp(`${objectId}${suffix}`);
        return [member, JSON.stringify(ref)] as const;
      }),
    );
    const { ref, ...created } = await writer.publishInstance(
      objectId,
      className,
      {
        name: JSON.stringify(name),
        description: JSON.stringify(description),
        dataset: JSON.stringify(dataset),
        scorers: JSON.stringify(scorers),
        trials: String(trials),
        evaluation_name: JSON.stringify(evaluation_name),
        ...missing(eval_attributes?.text ?? "{}"),
        ...Object.fromEntries(ops),
      },
      eval_attributes,
    );
    return { ...created, evaluation_ref: ref };
  },

  show: (object) => ({
    ...instanceOf(object),
    dataset: stringMember(object.val, "dataset") ?? "",
    scorers: arrayItems(memberOf(object.val, "scorers") ?? "null").flatMap((scorer) => stringValue(scorer) ?? []),
    trials: trialsOf(object.val),
    evaluation_name: textOrNull(object.val, "evaluation_name"),
    evaluate_op: textOrNull(object.val, "evaluate"),
    predict_and_score_op: textOrNull(object.val, "predict_and_score") ?? textOrNull(object.val, "predictAndScore"),
    summarize_op: textOrNull(object.val, "summarize"),
  }),
};

/** Scorers whose refs are looked up at the same time. */
const checkedAtOnce = 8;

/** Throws unless the refs lead to a dataset and to scorers of the project, always about the first that does not. */
async function checkParts(
  store: TraceStore,
  projectId: string,
  dataset: string,
  scorers: readonly string[],
): Promise<void> {
  await withLoc(["dataset"], async () => {
    const { base_object_class } = await referencedObject({ store }, projectId, dataset);
    if (base_object_class !== "Dataset") throw new HeddleError("invalid", "must be the ref of a dataset", { loc: [] });
  });
  await forEachConcurrently(scorers, checkedAtOnce, async (ref, index) => {
    await withLoc(["scorers", index], async () => {
      const { kind, base_object_class } = await referencedObject({ store }, projectId, ref);
      if (kind === "op" || base_object_class === "Scorer") return;
      throw new HeddleError("invalid", "must be the ref of a scorer or of an op", { loc: [] });
    });
  });
}

/** The defaults of members that the user did not send. */
function missing(free: JsonText): Partial<typeof defaults> {
  return Object.fromEntries(Object.entries(defaults).filter(([member]) => memberOf(free, member) === undefined));
}

function trialsOf(val: JsonText): number {
  const trials = Number(memberOf(val, "trials"));
  return Number.isSafeInteger(trials) && trials > 0 ? trials : 1;
}

export function evaluationHandlers(services: Services): TracingHandlers<Caller>["evaluations"] {
  const { create, list, read, remove } = kindHandlers(services, evaluations);
  return { evaluationCreate: create, evaluationList: list, evaluationRead: read, evaluationDelete: remove };
}
