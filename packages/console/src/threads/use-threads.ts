import { callsAggregate, threadsQueryStream } from "@heddle/client/tracing";
import type { ThreadsQueryReq } from "@heddle/client/tracing";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useSession } from "../session/session-context.js";
import { byCost, fieldOf, threadPeriods } from "./threads-search.js";
import type { Thread, ThreadFigures, ThreadsSearch } from "./threads-search.js";
import { failureOf } from "../data/several-reads.js";

/** Threads that a list has at most. */
export const mostThreads = 1000;
/** Threads whose figures are asked for at a time: the API has at most so many groups. */
const figuresStep = 100;
const refreshMs = 10_000;

/** What the list is asked for by. `now` is the time that the period is counted from, in milliseconds. */
export const threadsRequest = (projectId: string, { since, sort }: ThreadsSearch, now: number): ThreadsQueryReq => ({
  project_id: projectId,
  ...(since !== undefined && {
    filter: { after_datetime: new Date(now - 1000 * threadPeriods[since]).toISOString() },
  }),
  sort_by: [{ field: fieldOf(sort), direction: "desc" }],
  limit: mostThreads,
});

/** The threads of a project, at most {@link mostThreads}, with tokens, cost and failures of all their calls. */
export function useThreads(projectId: string, search: ThreadsSearch) {
  const session = useSession();
  const { since, sort } = search;
  const list = useQuery({
    queryKey: ["threads", projectId, since, fieldOf(sort)],
    queryFn: async ({ signal }) => {
      const now = Date.now();
      const threads: Thread[] = [];
      const stream = threadsQueryStream(session.connection, threadsRequest(projectId, search, now), { signal });
      for await (const thread of stream) threads.push(thread);
      return threads;
    },
    refetchInterval: refreshMs,
  });
  const ids = useMemo(() => list.data?.map(({ thread_id }) => thread_id) ?? [], [list.data]);
  const steps = Array.from({ length: Math.ceil(ids.length / figuresStep) }, (_, index) =>
    ids.slice(index * figuresStep, (index + 1) * figuresStep),
  );
  const figures = useQueries({
    queries: steps.map((some) => ({
      queryKey: ["thread-figures", projectId, since, some],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const now = Date.now();
        const { groups } = await callsAggregate(
          session.connection,
          {
            project_id: projectId,
            filter: { thread_ids: some },
            ...(since !== undefined && {
              query: {
                $expr: {
                  $gte: [{ $getField: "started_at" }, { $literal: now / 1000 - threadPeriods[since] }],
                },
              },
            }),
            group_by: ["thread_id"],
            metrics: ["count", "errors", "tokens_total", "cost"],
            top: figuresStep,
          },
          { signal },
        );
        return groups.map(({ key: [id], values }): [string, ThreadFigures] => [
          id ?? "",
          {
            calls: values["count"] ?? 0,
            errors: values["errors"] ?? 0,
            tokens: values["tokens_total"] ?? undefined,
            cost: values["cost"] ?? undefined,
          },
        ]);
      },
      refetchInterval: refreshMs,
    })),
    combine: (results) => ({
      byId: new Map(results.flatMap(({ data }) => data ?? [])),
      error: failureOf(results),
      isComplete: results.every(({ data }) => data !== undefined),
    }),
  });
  const threads = useMemo(() => {
    const known = list.data?.map((thread): Thread => {
      // A group of a text has its first 500 characters.
      const of = figures.byId.get(thread.thread_id.slice(0, 500));
      return of === undefined ? thread : { ...thread, figures: of };
    });
    return sort === "cost" ? known?.toSorted(byCost) : known;
  }, [list.data, figures.byId, sort]);
  return {
    threads,
    error: list.error,
    figuresError: figures.error,
    /** Whether the order by cost has all costs. */
    isOrdered: sort !== "cost" || figures.isComplete,
    refetch: () => list.refetch(),
  };
}
