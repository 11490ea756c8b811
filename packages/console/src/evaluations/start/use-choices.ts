import { datasetRead, objsQuery, tableQuery } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { membersOf } from "../../json/members.js";
import { linkToProject } from "../../project/project-link.js";
import { useSession } from "../../session/session-context.js";

/** The newest version of an object that a run can be made of. */
export interface Choice {
  name: string;
  digest: string;
  ref: string;
  /** The class itself; null where the object names none. */
  className: string | null;
}

/** Names that are offered of each kind. */
const mostNames = 1000;

/** The newest versions of datasets, models or scorers, the last that was stored first. */
export function useChoices(projectId: string, baseClass: "Dataset" | "Model" | "Scorer") {
  const session = useSession();
  return useQuery({
    queryKey: ["evaluation-choices", projectId, baseClass],
    queryFn: async ({ signal }): Promise<Choice[]> => {
      const { objs } = await objsQuery(
        session.connection,
        {
          project_id: projectId,
          filter: { is_op: false, base_object_classes: [baseClass], latest_only: true },
          sort_by: [{ field: "created_at", direction: "desc" }],
          metadata_only: true,
          limit: mostNames,
        },
        { signal },
      );
      return objs.map(({ object_id: name, digest, leaf_object_class: className = null }) => ({
        name,
        digest,
        ref: refOf(projectId, name, digest),
        className,
      }));
    },
  });
}

export const refOf = (projectId: string, name: string, digest: string): string =>
  `weave:///${projectId}/object/${name}:${digest}`;

/** The columns of the first row of a dataset, which prompts and scorers name. */
export function useColumns(projectId: string, dataset: Choice | undefined) {
  const session = useSession();
  return useQuery({
    queryKey: ["dataset-columns", projectId, dataset?.ref],
    queryFn: async ({ signal }): Promise<string[]> => {
      const { name = "", digest = "" } = dataset ?? {};
      const path = { ...linkToProject(projectId).params, object_id: name, digest };
      const table = (await datasetRead(session.connection, path, { signal })).rows.split("/").at(-1) ?? "";
      const request = { project_id: projectId, digest: table, limit: 1 };
      const { rows } = await tableQuery(session.connection, request, { signal, raw: true });
      return [...membersOf(rows[0]?.val.text ?? "{}").keys()];
    },
    enabled: dataset !== undefined,
    staleTime: Infinity,
  });
}
