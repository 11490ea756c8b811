import { listBaseModels, listModels, listTrainingJobs } from "@heddle/client/training";
import type { Model, TrainingJob } from "@heddle/client/training";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";
import { isActive } from "./training-search.js";
import type { JobStatus } from "./training-search.js";

/** Jobs, and models, that a list has at most. */
export const mostListed = 1000;
const pageLimit = 100;
const [activeMs, idleMs] = [2000, 10_000];

/** The first of a list, and whether it has more. */
export async function firstOf<Item>(items: AsyncIterable<Item>): Promise<{ items: Item[]; hasMore: boolean }> {
  const read: Item[] = [];
  for await (const item of items) {
    if (read.length === mostListed) return { items: read, hasMore: true };
    read.push(item);
  }
  return { items: read, hasMore: false };
}

/** The training jobs of a project, newest first. */
export function useJobs(projectId: string, status: JobStatus | undefined) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-jobs", projectId, status],
    queryFn: async ({ signal }) => {
      const of = { project_id: projectId, limit: pageLimit, ...(status !== undefined && { status: [status] }) };
      return await firstOf<TrainingJob>(listTrainingJobs(session.training, of, { signal }));
    },
    refetchInterval: ({ state: { data } }) => (data?.items.some(isActive) === true ? activeMs : idleMs),
  });
}

/** The models of a project, oldest first. */
export function useModels(projectId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-models", projectId],
    queryFn: async ({ signal }) =>
      await firstOf<Model>(listModels(session.training, { project_id: projectId, limit: pageLimit }, { signal })),
    refetchInterval: idleMs,
  });
}

/** What training can begin with on this service. */
export function useBaseModels() {
  const session = useSession();
  return useQuery({
    queryKey: ["base-models"],
    queryFn: ({ signal }) => listBaseModels(session.training, { signal }),
    staleTime: 60_000,
  });
}
