import { newId } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";
import type { GenerateResult } from "@heddle/training";
import { completionOf } from "./completion.js";
import type { CompletionRun } from "./completion-run.js";

const completionOpName = "heddle.chat.completions";

/** Where and for whom a completion is recorded. */
export interface CallIdentity {
  id: string;
  project_id: string;
  user_id: string;
  /** Microseconds since 1970. */
  started_at: bigint;
}

export type CompletionOutcome = { result: GenerateResult } | { error: string };

/**
 * The call of a completion. Its inputs are the request with the defaults of its fields. Its output is the response as it
 * would be without a stream; that of a trained model has token ids and log-probabilities, whatever the request says.
 */
export function completionCall(
  run: CompletionRun,
  identity: CallIdentity,
  outcome: CompletionOutcome,
): Extract<CallPart, { part: "complete" }> {
  const { id, project_id, user_id, started_at } = identity;
  const { metadata, store: _, ...inputs } = run.request;
  const { base, trained } = run.model;
  const heddle = {
    base_model: base.name,
    ...(trained && { model_id: trained.model.id, checkpoint_step: trained.checkpoint.step }),
  };
  const details = trained === undefined ? run.details : { ...run.details, logprobs: true, tokenIds: true };
  const output = "result" in outcome ? completionOf(run, outcome.result, details) : undefined;
  // One name for all spellings that requests use.
  const model = trained === undefined ? base.name : `${trained.model.project_id}/${trained.model.name}`;
  const usage = output === undefined ? {} : { [model]: { requests: 1, ...output.usage } };
  return {
    part: "complete",
    start: {
      project_id,
      id,
      trace_id: newId(),
      op_name: completionOpName,
      started_at,
      wb_user_id: user_id,
      attributes: JSON.stringify({ ...metadata, heddle }),
      inputs: JSON.stringify(inputs),
    },
    end: {
      project_id,
      id,
      ended_at: BigInt(Date.now()) * 1000n,
      started_at,
      ...(output && { output: JSON.stringify(output) }),
      summary: JSON.stringify({ usage }),
      ...("error" in outcome && { exception: outcome.error }),
    },
  };
}
