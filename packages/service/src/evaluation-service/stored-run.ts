import { HeddleError } from "@heddle/errors";
import type { StoredCall, TraceStore } from "@heddle/trace-store";

type Stored = { store: TraceStore };

const runOp = "Evaluation.evaluate";
/** Older client libraries for JavaScript write it in camel case. */
const itemOps = ["Evaluation.predict_and_score", "Evaluation.predictAndScore"];

/** The call of an evaluation run, undefined if there is none. Throws `invalid` for a call that is none. */
export async function readRun(
  { store }: Stored,
  projectId: string,
  id: string,
  signal?: AbortSignal,
): Promise<StoredCall | undefined> {
  const call = await store.calls.read({ project_id: projectId, id }, { signal });
  if (call !== undefined && !call.op_name.includes(runOp)) {
    throw new HeddleError("invalid", `the call ${id} is not an evaluation run`);
  }
  return call;
}

/** The calls of a run that each wrap a prediction and its scores and have ended, the oldest first. */
export function finishedItems(
  { store }: Stored,
  { project_id, id }: { project_id: string; id: string },
  columns: string[],
  signal?: AbortSignal,
): AsyncIterable<StoredCall> {
  return store.calls.query(
    { ...selector(project_id, id), columns, sort_by: [{ field: "started_at", direction: "asc" }] },
    { signal },
  );
}

export async function countFinishedItems(
  { store }: Stored,
  { project_id, id }: { project_id: string; id: string },
  signal?: AbortSignal,
): Promise<number> {
  return (await store.calls.count(selector(project_id, id), { signal })).count;
}

function selector(projectId: string, runId: string) {
  const isItem = itemOps.map((op) => ({
    $contains: { input: { $getField: "op_name" }, substr: { $literal: op } },
  }));
  const hasEnded = { $not: [{ $eq: [{ $getField: "ended_at" }, { $literal: null }] as [object, object] }] };
  return {
    project_id: projectId,
    filter: { parent_ids: [runId] },
    query: { $expr: { $and: [{ $or: isItem }, hasEnded] } },
  };
}
