import { HeddleError } from "@heddle/errors";
import { memberOf } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { derivedId, externalRefs } from "@heddle/trace-model";
import type { CallPart, ProjectOf } from "@heddle/trace-model";
import type { EvaluationRecord, ScoreStats } from "@heddle/trace-store";
import type { RawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { versionRef } from "./evaluation-refs.js";
import { marksOf } from "./evaluation-views.js";
import { idFor, markedStart, nowUs } from "./evaluation-writes.js";
import type { EvaluationWrites, WriteContext } from "./evaluation-writes.js";

/** Starts the call of a run and returns its id. */
export async function createRun(
  writes: EvaluationWrites,
  body: Schemas["EvaluationRunCreateBody"],
  context: WriteContext,
  projectOf: ProjectOf,
): Promise<string> {
  const { projectId } = context;
  const [evaluation, model] = (["evaluation", "model"] as const).map(
    (name) => versionRef(body[name], { name, projectId, projectOf }).uri,
  );
  const id = idFor(context, "evaluation_run");
  const { source_evaluation_run_id } = body;
  const start = markedStart(context, {
    id,
    trace_id: id,
    op_name: await writes.opRef(projectId, "Evaluation.evaluate"),
    started_at: nowUs(),
    inputs: JSON.stringify({ self: evaluation, model }),
    marks: { evaluation_run: "true", evaluation, model, source_evaluation_run_id },
  });
  await writes.ingest([{ part: "start", start }]);
  return id;
}

/**
 * Ends the call of a run with the means of its scores, again if it has ended. Does nothing when a client has ended one of its
 * own. Throws `not_found`.
 */
export async function finishRun(
  writes: EvaluationWrites,
  { id: runId, evaluation }: EvaluationRecord,
  given: RawJson | undefined,
  context: Pick<WriteContext, "projectId" | "userId"> & { projectOf: ProjectOf },
): Promise<void> {
  const { store } = writes.services;
  const { projectId } = context;
  const [run, { runs }, outputMean] = await Promise.all([
    store.calls.read({ project_id: projectId, id: runId }),
    store.evaluations.summarize({ project_id: projectId, evaluation_run_ids: [runId] }),
    store.evaluations.meanOutput({ project_id: projectId, evaluation_run_id: runId }),
  ]);
  if (run === undefined) throw new HeddleError("not_found", `there is no evaluation run ${runId}`);
  // Its output is that of the library's own summary.
  if (run.ended_at !== null && memberOf(marksOf(run), "evaluation_run") === undefined) return;
  const output = meansOf(runs[0]?.scorer_stats ?? [], outputMean);
  const summary = given === undefined ? run.summary : externalRefs(given.text, context.projectOf);
  const now = nowUs();
  const summarizeId = derivedId(projectId, runId, 0, "summarize");
  const endedAt = run.ended_at ?? now;
  const summarize: CallPart = {
    part: "complete",
    start: markedStart(context, {
      id: summarizeId,
      trace_id: run.trace_id,
      parent_id: runId,
      op_name: await writes.opRef(projectId, "Evaluation.summarize"),
      started_at: endedAt,
      inputs: JSON.stringify({ self: evaluation }),
      marks: { evaluation_run_id: runId },
    }),
    end: { project_id: projectId, id: summarizeId, ended_at: endedAt, output, summary: "{}" },
  };
  const end: CallPart = {
    part: "end",
    end: {
      project_id: projectId,
      id: runId,
      ended_at: endedAt,
      started_at: run.started_at,
      output,
      summary,
      exception: run.exception ?? undefined,
    },
  };
  await writes.ingest([summarize, end]);
}

type Means = Map<string, Means | number>;

/** `{"mean": …}` for each value of the scores, at its path, and for outputs that are numbers. */
function meansOf(stats: readonly ScoreStats[], outputMean: number | null): JsonText {
  const means: Means = new Map();
  if (outputMean !== null) setMean(means, ["output"], outputMean);
  for (const { scorer_key, path, numeric_mean, pass_rate } of stats) {
    const mean = numeric_mean ?? pass_rate;
    if (mean !== null) setMean(means, [scorer_key, ...path], mean);
  }
  return meansText(means);
}

/** A value that is not an object in some scores and one in others keeps both: its own mean and those of the members. */
function setMean(means: Means, path: readonly string[], mean: number): void {
  let at = means;
  for (const segment of path) {
    const next = at.get(segment);
    const inner: Means = next instanceof Map ? next : new Map();
    at.set(segment, inner);
    at = inner;
  }
  at.set("mean", mean);
}

function meansText(means: Means): JsonText {
  const members = Array.from(means, ([name, value]) => {
    return `${JSON.stringify(name)}:${value instanceof Map ? meansText(value) : JSON.stringify(value)}`;
  });
  return `{${members.join(",")}}`;
}
