import { asText, membersOf, stringMember } from "../../json/members.js";

/** Feedback that the service gives calls which a job is made of. */
export const jobFeedback = "heddle.training_job";

/** The weights that answered a call. */
export interface Answered {
  modelId: string;
  step: string;
}

/** A job that a call was trained on by. */
export interface Trained {
  jobId: string;
  modelId: string;
  model: string;
  kind: string;
  /** Exact text; absent where it had none. */
  reward?: string;
}

/** Of the attributes of a chat completion of this service; undefined for those of base models and of others. */
export function answeredBy(attributes: string): Answered | undefined {
  const heddle = membersOf(attributes).get("heddle") ?? "";
  const [modelId, step] = [stringMember(heddle, "model_id"), membersOf(heddle).get("checkpoint_step")];
  return modelId === undefined || step === undefined || !/^\d+$/.test(step) ? undefined : { modelId, step };
}

/** Of the payload of feedback; undefined where somebody else gave feedback of that type. */
export function trainedBy(payload: string): Trained | undefined {
  const [jobId, modelId] = [stringMember(payload, "job_id"), stringMember(payload, "model_id")];
  if (jobId === undefined || modelId === undefined) return undefined;
  const reward = membersOf(payload).get("reward");
  return {
    jobId,
    modelId,
    model: stringMember(payload, "model") ?? modelId,
    kind: stringMember(payload, "kind") ?? "",
    ...(reward !== undefined && reward !== "null" && { reward: asText(reward) }),
  };
}
