import { callsPage } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../session/session-context.js";
import type { CallSelection } from "../calls-search.js";

/** How many calls an action would be on, counted now. */
export function useChosenCount(projectId: string, selection: CallSelection) {
  const session = useSession();
  return useQuery({
    queryKey: ["chosen-count", projectId, selection],
    queryFn: async ({ signal }) => {
      const request = { project_id: projectId, ...selection, limit: 1, total: "exact" as const };
      const { total } = await callsPage(session.connection, request, { signal });
      return total?.value ?? 0;
    },
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}
