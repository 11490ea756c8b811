import { getModel, listModelCheckpoints, listTrainingJobs } from "@heddle/client/training";
import type { Checkpoint, TrainingJob } from "@heddle/client/training";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";
import { isActive } from "./training-search.js";
import { firstOf } from "./use-training.js";

const pageLimit = 100;
const [activeMs, idleMs] = [2000, 10_000];

export function useModel(modelId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-model", modelId],
    queryFn: ({ signal }) => getModel(session.training, { model_id: modelId }, { signal }),
  });
}

/** The jobs of a model, newest first. */
export function useModelJobs(projectId: string, modelId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-model-jobs", projectId, modelId],
    queryFn: async ({ signal }) => {
      const of = { project_id: projectId, model_id: modelId, limit: pageLimit };
      return await firstOf<TrainingJob>(listTrainingJobs(session.training, of, { signal }));
    },
    refetchInterval: ({ state: { data } }) => (data?.items.some(isActive) === true ? activeMs : idleMs),
  });
}

/** The checkpoints of a model, newest first. */
export function useCheckpoints(modelId: string, isGrowing: boolean) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-checkpoints", modelId],
    queryFn: async ({ signal }) => {
      const of = { model_id: modelId, limit: pageLimit, order: "desc" as const };
      return await firstOf<Checkpoint>(listModelCheckpoints(session.training, of, { signal }));
    },
    refetchInterval: isGrowing ? activeMs : idleMs,
  });
}
