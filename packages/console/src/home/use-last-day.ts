import { callsAggregate } from "@heddle/client/tracing";
import type { ProjectSummary } from "@heddle/client/tracing";
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../session/session-context.js";

const dayMs = 86_400_000;
const refreshMs = 30_000;
/** Projects whose figures are added up: each is a request of its own. */
const mostProjects = 30;

export interface LastDay {
  errors: number;
  cost: number | undefined;
  /** Only calls since then were counted. */
  since: string | undefined;
}

/** Of those with the newest calls: the others had none in the last day, or are too many. */
export const activeProjects = (projects: readonly ProjectSummary[], now: number, most = mostProjects): string[] =>
  projects
    .filter(({ last_started_at }) => last_started_at !== undefined && Date.parse(last_started_at) > now - dayMs)
    .slice(0, most)
    .map(({ project_id }) => project_id);

/** Failures and costs of the last 24 hours by project; of projects in the order of their newest calls. */
export function useLastDay(projects: readonly ProjectSummary[]): ReadonlyMap<string, LastDay> {
  const session = useSession();
  const [opened] = useState(() => Date.now());
  return useQueries({
    queries: activeProjects(projects, opened).map((projectId) => ({
      queryKey: ["last-day", projectId],
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<[string, LastDay]> => {
        const after = (Date.now() - dayMs) / 1000;
        const { total, exact, since } = await callsAggregate(
          session.connection,
          {
            project_id: projectId,
            query: { $expr: { $gte: [{ $getField: "started_at" }, { $literal: after }] } },
            metrics: ["errors", "cost"],
          },
          { signal },
        );
        const { errors, cost } = total.values;
        return [projectId, { errors: errors ?? 0, cost: cost ?? undefined, since: exact ? undefined : since }];
      },
      refetchInterval: refreshMs,
      staleTime: refreshMs,
    })),
    combine: (results) => new Map(results.flatMap(({ data }) => (data === undefined ? [] : [data]))),
  });
}
