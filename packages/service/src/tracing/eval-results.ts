import { HeddleError } from "@heddle/errors";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import type { EvaluationRecord, StoredCall } from "@heddle/trace-store";
import type { Caller, Services } from "../services.js";
import { wireComparedScore, wireResultsRow, wireStats } from "../wire/eval-results.js";
import { projectOfPath } from "../wire/project-of-path.js";

interface KnownRun {
  call: StoredCall;
  /** Undefined for a call that is not a run of an evaluation. */
  record: EvaluationRecord | undefined;
}

export function evalResultHandlers({ store }: Services): TracingHandlers<Caller>["evalResults"] {
  /** Those of the ids that calls have. */
  async function knownRuns(projectId: string, ids: string[], signal: AbortSignal): Promise<Map<string, KnownRun>> {
    const known = new Map<string, KnownRun>();
    // A filter without ids would be none.
    if (ids.length === 0) return known;
    const records = await store.evaluations.find({ project_id: projectId, kind: "run", ids }, { signal });
    const recordOf = new Map(records.map((record) => [record.id, record]));
    const request = { project_id: projectId, filter: { call_ids: ids }, columns: ["display_name", "ended_at"] };
    for await (const call of store.calls.query(request, { signal })) {
      known.set(call.id, { call, record: recordOf.get(call.id) });
    }
    return known;
  }

  return {
    async evalResultsQuery({ params, body, signal }) {
      const { evaluation_call_ids: callIds, evaluation_run_ids: runIds } = body;
      if (callIds === undefined && runIds === undefined) {
        throw new HeddleError("invalid", "names no evaluation run", { loc: ["evaluation_run_ids"] });
      }
      const projectId = projectOfPath(params);
      const ids = [...new Set([...(callIds ?? []), ...(runIds ?? [])])];
      const request = { ...body, project_id: projectId, evaluation_run_ids: ids };
      const intersection = body.summary_require_intersection ?? body.require_intersection;
      const page = body.include_rows ? await store.evaluations.results(request, { signal }) : undefined;
      const sums = body.include_summary
        ? await store.evaluations.summarize({ ...request, require_intersection: intersection }, { signal })
        : undefined;
      const known = await knownRuns(projectId, ids, signal);
      return {
        rows: (page?.rows ?? []).map(wireResultsRow),
        total_rows: page?.total_rows ?? 0,
        summary:
          sums === undefined
            ? null
            : {
                row_count: sums.row_count,
                evaluations: sums.runs.map(({ evaluation_run_id, trial_count, scorer_stats, ...totals }) => ({
                  evaluation_call_id: evaluation_run_id,
                  trial_count,
                  scorer_stats: scorer_stats.map((stats) => wireStats(stats, trial_count)),
                  ...shownRun(known.get(evaluation_run_id)),
                  predict_total_tokens: totals.predict_total_tokens,
                  predict_total_cost: totals.predict_total_cost,
                })),
              },
        warnings: [
          ...ids.filter((id) => !known.has(id)).map((id) => `there is no evaluation run ${id}`),
          ...(page?.missing_rows ?? []).map((digest) => `the row ${digest} is not stored: its ref is shown`),
          ...(sums?.runs ?? [])
            .filter(({ is_cut }) => is_cut)
            .map(({ evaluation_run_id: id }) => `the scores of ${id} have too many different values for a summary`),
        ],
      };
    },

    async evalResultsCompare({ params, body, signal }) {
      const projectId = projectOfPath(params);
      const ids = [body.base, ...body.others];
      const [known, found] = await Promise.all([
        knownRuns(projectId, ids, signal),
        store.evaluations.compare({ ...body, project_id: projectId }, { signal }),
      ]);
      return {
        ...found,
        runs: found.runs.map(({ evaluation_run_id: id, ...sizes }) => {
          const { trace_id: _, ...shown } = shownRun(known.get(id));
          return { evaluation_call_id: id, ...sizes, ...shown };
        }),
        scores: found.scores.map(wireComparedScore),
        warnings: [
          ...ids.filter((id) => !known.has(id)).map((id) => `there is no evaluation run ${id}`),
          ...ids.filter((id) => known.get(id)?.call.ended_at === null).map((id) => `the run ${id} has not ended`),
          ...found.runs
            .filter(({ evaluation_run_id: id, row_count }) => row_count === 0 && known.has(id))
            .map(({ evaluation_run_id: id }) => `the run ${id} has no results`),
          ...found.warnings,
        ],
      };
    },
  };
}

type Shown = Pick<
  Schemas["EvalResultsEvaluationSummary"],
  "evaluation_ref" | "model_ref" | "display_name" | "trace_id" | "started_at"
>;

function shownRun(run: KnownRun | undefined): Shown {
  return {
    evaluation_ref: run?.record?.evaluation || null,
    model_ref: run?.record?.model || null,
    display_name: run?.call.display_name ?? null,
    trace_id: run?.call.trace_id ?? null,
    started_at: run === undefined ? null : formatTime(run.call.started_at),
  };
}
