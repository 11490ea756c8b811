import { randomUUID } from "node:crypto";
import type { TestService } from "../test-service.js";

/** Stores what the samples of training on calls select and no sample makes: a rated chat completion. */
export async function storeRatedCall(service: TestService, projectId: string): Promise<void> {
  const tracing = service.tracing();
  const id = randomUUID();
  const call = { project_id: projectId, id, started_at: "2026-04-10T09:00:00Z" };
  const choice = {
    finish_reason: "stop",
    index: 0,
    message: { role: "assistant", content: "yes" },
    logprobs: { content: [{ token: "token_id:121", logprob: -1.2 }] },
  };
  const start = { ...call, op_name: "heddle.chat.completions", trace_id: id, attributes: {} };
  const inputs = { messages: [{ role: "user", content: "Is the shop open?" }] };
  await tracing.callStart({ start: { ...start, inputs } });
  const end = { project_id: projectId, id, ended_at: "2026-04-10T09:00:01Z", summary: {} };
  await tracing.callEnd({ end: { ...end, output: { choices: [choice] } } });
  const ref = `weave:///${projectId}/call/${id}`;
  const rating = { feedback_type: "quality", payload: { value: 1 } };
  await tracing.feedbackCreate({ project_id: projectId, weave_ref: ref, ...rating });
}
