import { modelHistory } from "@heddle/client/training";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../session/session-context.js";

/** Points of a series: more than a curve has pixels. */
const points = 4000;
const lookMs = 5000;

/** What clients logged to the run of a model. */
export function useHistory(modelId: string, isOn: boolean, isGrowing: boolean) {
  const session = useSession();
  return useQuery({
    queryKey: ["training-history", modelId],
    queryFn: ({ signal }) => modelHistory(session.training, { model_id: modelId, points }, { signal }),
    enabled: isOn,
    structuralSharing: false,
    refetchInterval: isOn && isGrowing ? lookMs : false,
  });
}
