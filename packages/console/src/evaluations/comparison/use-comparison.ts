import { evalResultsCompare } from "@heddle/client/tracing";
import type { EvalComparedRow, EvalResultsCompareBody, EvalResultsCompareRes } from "@heddle/client/tracing";
import { keepPreviousData, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { linkToProject } from "../../project/project-link.js";
import { useSession } from "../../session/session-context.js";

/** Rows of a comparison are a few numbers each: so many come at a time. */
const step = 10_000;
/** Until what was read is read again where it is asked for. */
const freshMs = 60_000;

const rowsOf = (results: readonly { data: EvalResultsCompareRes | undefined }[]) =>
  results.map(({ data }) => data?.rows);

type Order = Pick<EvalResultsCompareBody, "score" | "lower_is_better" | "sort" | "only">;

/** What runs differ by: figures of each score, and rows in an order; of further rows those of the window. */
export function useComparison(
  projectId: string,
  runs: readonly string[],
  order: Order,
  { first, end }: { first: number; end: number },
) {
  const session = useSession();
  const client = useQueryClient();
  const [base = "", ...others] = runs;
  const figuresKey = ["evaluation-figures", projectId, base, others];
  const rowsAt = (at: number) => {
    const more = { ...order, limit: step, offset: at * step };
    return {
      queryKey: ["evaluation-comparison", projectId, base, others, more],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        // Each comparison reads all scores of all runs: the first one brings the figures, which no order changes.
        const { dataUpdatedAt = 0, isInvalidated = true } = client.getQueryState(figuresKey) ?? {};
        const bringsFigures = at === 0 && (isInvalidated || Date.now() - dataUpdatedAt >= freshMs);
        const request = { ...linkToProject(projectId).params, base, others, ...more, include_scores: bringsFigures };
        const found = await evalResultsCompare(session.connection, request, { signal });
        if (bringsFigures) client.setQueryData(figuresKey, found);
        return found;
      },
      staleTime: freshMs,
    };
  };
  const figures = useQuery<EvalResultsCompareRes>({ queryKey: figuresKey, enabled: false, staleTime: Infinity });
  const begin = useQuery({ ...rowsAt(0), placeholderData: keepPreviousData });
  const further: number[] = [];
  for (let at = Math.max(1, Math.floor(first / step)); at * step < Math.min(end, begin.data?.total_rows ?? 0); at++)
    further.push(at);
  const later = useQueries({
    queries: further.map(rowsAt),
    combine: rowsOf,
  });
  const rows = useMemo(() => {
    const found: EvalComparedRow[] = [...(begin.data?.rows ?? [])];
    further.forEach((at, index) => later[index]?.forEach((row, of) => (found[at * step + of] = row)));
    return found;
    // oxlint-disable-next-line react/exhaustive-deps -- the list is new each time
  }, [begin.data, further.join(), later]);
  return {
    figures: figures.data,
    rows,
    total: begin.data?.total_rows ?? 0,
    score: begin.data?.score ?? undefined,
    warnings: begin.data?.warnings ?? figures.data?.warnings ?? [],
    isRead: begin.data !== undefined,
    /** Rows of the order before are shown. */
    isOld: begin.isPlaceholderData,
    error: begin.error,
    refetch: () => begin.refetch(),
  };
}
