import { annotationQueueAddMatching, annotationQueueCreate, annotationQueuesQueryStream } from "@heddle/client/tracing";
import type { AnnotationQueueSchema } from "@heddle/client/tracing";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../../session/session-context.js";
import { Failure } from "../../ui/failure.js";
import { ActionForm } from "./action-form.js";
import type { ActionProps } from "./action-props.js";
import { pathsIn } from "../paths-in.js";

const mostQueues = 200;

/** Puts calls into a queue that is there, or into a new one. */
export function QueueAction({ paths, ...props }: ActionProps & { paths: readonly string[] }) {
  const { projectId } = props;
  const session = useSession();
  const client = useQueryClient();
  const queryKey = ["queues", projectId];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const queues: AnnotationQueueSchema[] = [];
      const request = { project_id: projectId, limit: mostQueues };
      for await (const queue of annotationQueuesQueryStream(session.connection, request, { signal }))
        queues.push(queue);
      return queues;
    },
  });
  const [queueId, setQueueId] = useState<string>();
  const [name, setName] = useState("");
  const [pathLines, setShown] = useState(paths.join("\n"));
  const chosen = queueId ?? data?.[0]?.id ?? "";
  return (
    <ActionForm
      {...props}
      title="Put calls into a queue"
      verb={(calls) => `Queue ${calls}`}
      act={async (calls) => {
        let id = chosen;
        if (id === "") {
          ({ id } = await annotationQueueCreate(session.connection, {
            project_id: projectId,
            name: name.trim(),
            scorer_refs: [],
          }));
          // Tried again, it is not made again.
          await client.invalidateQueries({ queryKey });
          setQueueId(id);
        }
        const body = { project_id: projectId, ...calls, display_fields: pathsIn(pathLines) };
        return await annotationQueueAddMatching(session.connection, { queue_id: id, ...body });
      }}
      doneWords={(calls) => `Put ${calls} into the queue.`}
    >
      {error !== null && <Failure what="The queues cannot be read." error={error} onRetry={() => refetch()} />}
      <label>
        Queue{" "}
        <select value={chosen} onChange={({ target }) => setQueueId(target.value)}>
          {data?.map((queue) => (
            <option key={queue.id} value={queue.id}>
              {queue.name}
            </option>
          ))}
          <option value="">a new one</option>
        </select>
      </label>
      {chosen === "" && (
        <label>
          Name of the queue{" "}
          <input
            required
            maxLength={256}
            autoComplete="off"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </label>
      )}
      <label>
        What annotators see, one path a line{" "}
        <textarea className="mono" rows={3} value={pathLines} onChange={({ target }) => setShown(target.value)} />
      </label>
    </ActionForm>
  );
}
