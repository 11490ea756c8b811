import { rawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { formatTime, statedOf, summaryWithWeave, weaveBlock } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import type { StoredCall } from "@heddle/trace-store";

/** A stored call as the wire shows it; the `summary.weave` block is computed here, at reading. */
export function wireCall(call: StoredCall, userName?: string): Schemas["CallSchema"] {
  return {
    id: call.id,
    project_id: call.project_id,
    op_name: call.op_name,
    display_name: call.display_name,
    trace_id: call.trace_id,
    ...statedOf(call),
    started_at: formatTime(call.started_at),
    attributes: rawJson(call.attributes),
    inputs: rawJson(call.inputs),
    ended_at: call.ended_at === null ? null : formatTime(call.ended_at),
    exception: call.exception,
    output: rawJson(call.output),
    summary: rawJson(summaryWithWeave(call.summary, weaveBlock(call, addedOf(call)))),
    ...(userName !== undefined && { wb_username: userName }),
    wb_run_step_end: call.wb_run_step_end,
    deleted_at: null,
    expire_at: call.expire_at === null ? null : formatTime(call.expire_at),
    ...(call.storage_size_bytes !== undefined && { storage_size_bytes: call.storage_size_bytes }),
    ...(call.total_storage_size_bytes !== undefined && { total_storage_size_bytes: call.total_storage_size_bytes }),
  };
}

/** What the computed block has only where it was asked for. */
function addedOf({ costs, feedback }: StoredCall): Record<string, JsonText> {
  return {
    ...(costs !== undefined && { costs }),
    ...(feedback !== undefined && { feedback: `[${feedback.join(",")}]` }),
  };
}
