import { HeddleError } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { jsonType, stringMember } from "@heddle/exact-json";
import type { StoredCall, TraceStore } from "@heddle/trace-store";
import type { ControlPlane } from "@heddle/control-plane";
import { readEvaluation } from "./plan-run.js";
import { countFinishedItems, readRun } from "./stored-run.js";

/** The status of an evaluation run, whoever makes it. Throws `invalid` for a call that is none. */
export async function runStatus(
  services: { store: TraceStore; control: ControlPlane },
  projectId: string,
  callId: string,
  signal: AbortSignal,
): Promise<Schemas["EvaluationStatusRes"]["status"]> {
  const call = await readRun(services, projectId, callId, signal);
  if (call === undefined) return { code: "not_found" };
  if (call.exception !== null) return { code: "failed", error: call.exception };
  if (call.ended_at !== null) {
    return { code: "complete", output: rawJson(jsonType(call.output) === "object" ? call.output : "{}") };
  }
  const completed = await countFinishedItems(services, call, signal);
  const total = await totalOf(services, call);
  return { code: "running", completed_rows: completed, total_rows: Math.max(total, completed) };
}

/** How many predictions the run will have; 0 if that cannot be known. */
async function totalOf(
  { store, control }: { store: TraceStore; control: ControlPlane },
  call: StoredCall,
): Promise<number> {
  const job = await control.jobs.get(call.project_id, call.id);
  if (job?.progress.total !== undefined && job.progress.total !== null) return job.progress.total;
  const inputs = ["self", "this"].map((name) => stringMember(call.inputs, name));
  const ref = inputs.find((text) => text !== undefined);
  if (ref === undefined) return 0;
  try {
    const { rows, trials } = await readEvaluation({ store }, call.project_id, ref);
    return rows * trials;
  } catch (error) {
    if (error instanceof HeddleError && (error.code === "invalid" || error.code === "not_found")) return 0;
    throw error;
  }
}
