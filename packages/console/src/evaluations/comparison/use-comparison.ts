import { evalResultsCompare } from "@heddle/client/tracing";
import type { EvalComparedRow, EvalResultsCompareBody, EvalResultsCompareRes } from "@heddle/client/tracing";
import { keepPreviousData, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { linkToProject } from "../../project/project-link.js";
import { useSession } from "../../session/session-context.js";
import { limitOf, offsetOf, piecesIn, rowsAt } from "./pieces.js";
import type { Range } from "./pieces.js";

/** Until what was read is read again where it is asked for. */
const freshMs = 60_000;

const rowsOf = (results: readonly { data: EvalResultsCompareRes | undefined }[]) =>
  results.map(({ data }) => data?.rows);

type Order = Pick<EvalResultsCompareBody, "score" | "lower_is_better" | "sort" | "only">;

/** What runs differ by: figures of each score, and rows in an order; of far rows those of the ranges. */
export function useComparison(projectId: string, runs: readonly string[], order: Order, ranges: readonly Range[]) {
  const session = useSession();
  const client = useQueryClient();
  const [base = "", ...others] = runs;
  const figuresKey = ["evaluation-figures", projectId, base, others];
  const piece = (at: number) => {
    const more = { ...order, limit: limitOf(at), offset: offsetOf(at) };
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
  const begin = useQuery({ ...piece(0), placeholderData: keepPreviousData });
  const total = begin.data?.total_rows ?? 0;
  // The first rows are shown before the others are asked for.
  const next = useQuery({
    ...piece(1),
    enabled: !begin.isPlaceholderData && total > offsetOf(1),
    placeholderData: keepPreviousData,
  });
  // Rows of one order at a time.
  const nextRows = next.isPlaceholderData === begin.isPlaceholderData ? next.data?.rows : undefined;
  const far = [...new Set(ranges.flatMap((range) => piecesIn(range, total)))].filter((at) => at > 1);
  const farRows = useQueries({ queries: far.map(piece), combine: rowsOf });
  const rows = useMemo(
    () =>
      rowsAt<EvalComparedRow>([
        [0, begin.data?.rows],
        [1, nextRows],
        ...far.map((at, index) => [at, farRows[index]] as const),
      ]),
    // oxlint-disable-next-line react/exhaustive-deps -- the list is new each time
    [begin.data, nextRows, far.join(), farRows],
  );
  return {
    figures: figures.data,
    rows,
    total,
    score: begin.data?.score ?? undefined,
    warnings: begin.data?.warnings ?? figures.data?.warnings ?? [],
    isRead: begin.data !== undefined,
    /** Whether a row that is not there may come with those that are being read. */
    isReadingOn: total > offsetOf(1) && nextRows === undefined && next.error === null,
    /** Rows of the order before are shown. */
    isOld: begin.isPlaceholderData,
    error: begin.error ?? next.error,
    refetch: () => (begin.error === null ? next.refetch() : begin.refetch()),
  };
}
