import { listTrainingJobRollouts } from "@heddle/client/training";
import type { Rollout, TrainingJob } from "@heddle/client/training";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../session/session-context.js";
import { isActive } from "../training-search.js";
import { firstOf } from "../use-training.js";

const activeMs = 3000;

/** The first rollouts of a job. */
export function useRollouts(job: TrainingJob) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-rollouts", job.id],
    queryFn: async ({ signal }) => {
      const of = { training_job_id: job.id, limit: 100 };
      return await firstOf<Rollout>(listTrainingJobRollouts(session.training, of, { signal }));
    },
    enabled: job.kind === "rl",
    // They are there as soon as the job has read its data, and do not change.
    refetchInterval: ({ state: { data } }) =>
      isActive(job) && (data === undefined || data.items.length === 0) ? activeMs : false,
  });
}

/** The trajectory of one rollout as it was sent; null where it is not kept. */
export function useTrajectory(jobId: string, { id, group, index }: Pick<Rollout, "id" | "group" | "index">) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-trajectory", jobId, id],
    queryFn: async ({ signal }) => {
      const list = listTrainingJobRollouts(
        session.training,
        {
          training_job_id: jobId,
          group,
          include: ["data"],
          limit: 1,
          ...(index > 0 && { after: `${group}.${index - 1}` }),
        },
        { signal },
      );
      for await (const rollout of list) return rollout.id === id ? (rollout.data ?? null) : null;
      return null;
    },
    staleTime: Infinity,
    gcTime: 60_000,
  });
}
