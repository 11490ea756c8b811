import { datasetAddMatching, datasetCreate, objsQuery } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useSession } from "../../session/session-context.js";
import { ActionForm } from "./action-form.js";
import type { ActionProps } from "./action-props.js";
import { pathsIn } from "../paths-in.js";

/** Makes a row of a dataset of each call. */
export function DatasetAction({ paths, ...props }: ActionProps & { paths: readonly string[] }) {
  const { projectId } = props;
  const session = useSession();
  const id = useId();
  const { data } = useQuery({
    queryKey: ["dataset-names", projectId],
    queryFn: async ({ signal }) => {
      const filter = { base_object_classes: ["Dataset"], latest_only: true };
      const request = { project_id: projectId, filter, metadata_only: true, limit: 1000 };
      return (await objsQuery(session.connection, request, { signal })).objs.map(({ object_id }) => object_id);
    },
  });
  const [name, setName] = useState("");
  const [columns, setColumns] = useState(paths.join("\n"));
  const slash = projectId.indexOf("/");
  const of = { entity: projectId.slice(0, slash), project: projectId.slice(slash + 1) };
  return (
    <ActionForm
      {...props}
      title="Add calls to a dataset"
      verb={(calls) => `Add ${calls}`}
      act={async (calls) => {
        let objectId = name.trim();
        if (data?.includes(objectId) !== true) {
          const created = await datasetCreate(session.connection, { ...of, name: objectId, rows: [] });
          objectId = created.object_id;
        }
        return await datasetAddMatching(session.connection, {
          ...of,
          ...calls,
          object_id: objectId,
          columns: Object.fromEntries(pathsIn(columns).map((path) => [path, path])),
        });
      }}
      doneWords={(calls, { object_id, version_index }) => `Added ${calls} to ${object_id}, version ${version_index}.`}
    >
      <label>
        Dataset{" "}
        <input
          required
          list={id}
          autoComplete="off"
          placeholder="name of one, or a new name"
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </label>
      <datalist id={id}>
        {data?.map((known) => (
          <option key={known} value={known}>
            {known}
          </option>
        ))}
      </datalist>
      <label>
        Columns of a row, one path a line{" "}
        <textarea className="mono" rows={3} value={columns} onChange={({ target }) => setColumns(target.value)} />
      </label>
    </ActionForm>
  );
}
