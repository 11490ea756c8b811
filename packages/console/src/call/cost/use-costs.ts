import { callRead } from "@heddle/client/tracing";
import type { LLMCostSchema } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../session/session-context.js";

/** What each model of a call cost, and by which prices. */
export function useCosts(projectId: string, callId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["costs", projectId, callId],
    queryFn: async ({ signal }): Promise<Record<string, LLMCostSchema>> => {
      const request = { project_id: projectId, id: callId, include_costs: true };
      const { call } = await callRead(session.connection, request, { signal });
      return call?.summary?.weave?.costs ?? {};
    },
  });
}
