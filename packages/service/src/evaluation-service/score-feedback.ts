import { HeddleError } from "@heddle/errors";
import { stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { checkFeedback, formatRef } from "@heddle/trace-model";
import type { NewFeedback, StoredCall, TraceStore } from "@heddle/trace-store";
import { splitProject } from "../access/project-id.js";
import type { Runnable } from "./plan-run.js";

/** What a scorer says of a call. */
interface CallScore {
  scorer: Runnable;
  value?: JsonText;
  /** Why there is no value. */
  error?: string;
}

/** Those of the ids under which there is feedback. */
export async function storedFeedback(
  { store }: { store: TraceStore },
  projectId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const literals = ids.map((id) => ({ $literal: id }));
  const { result } = await store.feedback.query({
    project_id: projectId,
    fields: ["id"],
    query: { $expr: { $in: [{ $getField: "id" }, literals] } },
  });
  return new Set(result.map((row) => stringMember(row, "id") ?? ""));
}

/** A score as feedback on its call. */
export function feedbackOf(
  projectId: string,
  call: Pick<StoredCall, "id">,
  { scorer, value, error }: CallScore,
  { id, user_id }: { id: string; user_id: string },
): NewFeedback {
  const { entity = "", project = "" } = splitProject(projectId) ?? {};
  const output: JsonText = value ?? "null";
  const feedback = {
    project_id: projectId,
    id,
    weave_ref: formatRef({ kind: "call", entity, project, id: call.id, edges: [] }),
    feedback_type: `wandb.runnable.${scorer.object_id}`,
    runnable_ref: scorer.ref,
    payload: error === undefined ? `{"output":${output}}` : `{"output":null,"error":${JSON.stringify(error)}}`,
  };
  return { ...feedback, payload: payloadOf(feedback), wb_user_id: user_id };
}

/** A score that is too large for feedback is replaced by the reason. */
function payloadOf(feedback: Parameters<typeof checkFeedback>[0]): JsonText {
  try {
    return checkFeedback(feedback).payload;
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "too_large") throw error;
    return JSON.stringify({ output: null, error: `the score is too large: ${error.message}` });
  }
}
