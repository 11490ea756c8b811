import { evalResultsQuery, evaluationRunList, evaluationStatus } from "@heddle/client/tracing";
import type { EvalResultsEvaluationSummary, EvaluationRunReadRes } from "@heddle/client/tracing";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useSession } from "../session/session-context.js";
import { linkToProject } from "../project/project-link.js";
import { failureOf } from "../data/several-reads.js";

const refreshMs = 10_000;
const progressMs = 2000;
/** Runs whose summaries are asked for at a time. */
const summaryStep = 20;

type Summary = EvalResultsEvaluationSummary;

/** A run with what is known of it besides. */
export interface Run extends EvaluationRunReadRes {
  results?: Summary;
  /** Of one that goes on. */
  progress?: { done: number; of: number };
}

/** What summaries of runs are asked for by. */
export const summaryRequest = (ids: readonly string[]) => ({
  evaluation_call_ids: [...ids],
  include_rows: false,
  include_summary: true,
  include_costs: true,
});

export const runsKey = (projectId: string): string[] => ["evaluation-runs", projectId];

/** The runs of a project, newest first, with summaries and progress of those from `first` to before `end`. */
export function useRuns(projectId: string, { first, end }: { first: number; end: number }) {
  const session = useSession();
  const { params } = linkToProject(projectId);
  const list = useQuery({
    queryKey: runsKey(projectId),
    queryFn: async ({ signal }) => {
      const runs: EvaluationRunReadRes[] = [];
      for await (const run of evaluationRunList(session.connection, params, { signal })) runs.push(run);
      return runs.toReversed();
    },
    refetchInterval: refreshMs,
  });
  const steps = useMemo(() => stepsOf(list.data ?? [], first, end), [list.data, first, end]);
  const summaries = useQueries({
    queries: steps.map((some) => ({
      queryKey: ["evaluation-summaries", projectId, some.map(({ evaluation_run_id: id, finished_at: at }) => [id, at])],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const ids = some.map(({ evaluation_run_id: id }) => id);
        const { summary } = await evalResultsQuery(
          session.connection,
          { ...params, ...summaryRequest(ids) },
          { signal },
        );
        return summary?.evaluations ?? [];
      },
      refetchInterval: some.some(isRunning) ? refreshMs : (false as const),
    })),
    combine: (results) => ({
      byId: new Map(results.flatMap(({ data }) => data ?? []).map((of) => [of.evaluation_call_id, of])),
      error: failureOf(results),
    }),
  });
  const running = steps.flat().filter(isRunning);
  const progress = useQueries({
    queries: running.map(({ evaluation_run_id: id }) => ({
      queryKey: ["evaluation-status", projectId, id],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const request = { project_id: projectId, call_id: id };
        const { status } = await evaluationStatus(session.connection, request, { signal });
        // The list says how it ended.
        if (status.code !== "running") void list.refetch();
        return { id, status };
      },
      refetchInterval: progressMs,
    })),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }) =>
          data?.status.code === "running"
            ? [[data.id, { done: data.status.completed_rows, of: data.status.total_rows }] as const]
            : [],
        ),
      ),
  });
  const runs = useMemo(
    () =>
      list.data?.map((run): Run => {
        const results = summaries.byId.get(run.evaluation_run_id);
        const of = progress.get(run.evaluation_run_id);
        return { ...run, ...(results !== undefined && { results }), ...(of !== undefined && { progress: of }) };
      }),
    [list.data, summaries.byId, progress],
  );
  return { runs, error: list.error, summaryError: summaries.error, refetch: () => list.refetch() };
}

export const isRunning = ({ status }: Pick<EvaluationRunReadRes, "status">): boolean => status === "running";

/** The steps that have something of the window, so that scrolling asks for the same ones again. */
function stepsOf(runs: readonly EvaluationRunReadRes[], first: number, end: number): EvaluationRunReadRes[][] {
  const steps: EvaluationRunReadRes[][] = [];
  for (let at = Math.floor(first / summaryStep) * summaryStep; at < Math.min(end, runs.length); at += summaryStep)
    steps.push(runs.slice(at, at + summaryStep));
  return steps;
}
