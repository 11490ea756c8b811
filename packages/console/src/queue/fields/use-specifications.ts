import { objsQuery } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { refOf } from "../../library/kinds.js";
import { useSession } from "../../session/session-context.js";
import { fieldOf } from "./field.js";

/** Fields that a dialog offers. */
const mostSpecifications = 200;

/** The annotation specifications of a project, the newest version of each. */
export function useSpecifications(projectId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["annotation-specifications", projectId],
    queryFn: async ({ signal }) => {
      const { objs } = await objsQuery(
        session.connection,
        {
          project_id: projectId,
          filter: { base_object_classes: ["AnnotationSpec"], latest_only: true, is_op: false },
          sort_by: [{ field: "created_at", direction: "asc" }],
          limit: mostSpecifications,
        },
        { signal },
      );
      return objs.flatMap(
        ({ object_id, digest, val }) => fieldOf(refOf(projectId, "objects", object_id, digest), val) ?? [],
      );
    },
  });
}
