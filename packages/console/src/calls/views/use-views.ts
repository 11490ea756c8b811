import { objsQuery } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../session/session-context.js";
import { viewClass, viewOf } from "./saved-view.js";

const mostViews = 200;

export const viewsKey = (projectId: string): string[] => ["saved-views", projectId];

/** The views of the project, those saved last first. */
export function useViews(projectId: string) {
  const session = useSession();
  return useQuery({
    queryKey: viewsKey(projectId),
    queryFn: async ({ signal }) => {
      const request = {
        project_id: projectId,
        filter: { leaf_object_classes: [viewClass], latest_only: true },
        sort_by: [{ field: "created_at", direction: "desc" as const }],
        limit: mostViews,
      };
      const { objs } = await objsQuery(session.connection, request, { signal });
      return objs.flatMap((object) => viewOf(object) ?? []);
    },
  });
}
