import { Link, useParams, useSearch } from "../router/routing.js";
import { useState } from "react";
import { useMe } from "../data/use-me.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { Failure } from "../ui/failure.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { AgreementView } from "./agreement/agreement-view.js";
import { useFields } from "./use-fields.js";
import { useQueue } from "./use-queues.js";
import { WorkView } from "./work-view.js";
import "./queue.css";
import "./work.css";

const from = "/$entity/$project/queues/$queueId";

/** A queue, worked through item by item. */
export function QueueScreen() {
  const { entity, project, queueId } = useParams({ from });
  const { item } = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const me = useMe();
  const readOnly = useReadOnlyReason();
  const queue = useQueue(projectId, queueId);
  const { fields, others, error, isComplete, retry } = useFields(projectId, queue.data?.scorer_refs ?? []);
  // What a page began with stays when it changes the address.
  const [begun] = useState(item);
  const back = (
    <Link to="/$entity/$project/queues" params={{ entity, project }}>
      ← queues
    </Link>
  );
  if (queue.data === undefined || me.data === undefined) {
    const failed = queue.error ?? me.error;
    return (
      <main className="queue">
        <div className="queues-note">
          {back}
          {failed === null ? (
            <Waiting what="Loading the queue" />
          ) : (
            <Failure what="The queue cannot be read." error={failed} onRetry={() => queue.refetch()} />
          )}
        </div>
      </main>
    );
  }
  if (error !== null || !isComplete) {
    return (
      <main className="queue">
        <div className="queues-note">
          {back}
          {error === null ? (
            <Waiting what="Loading the fields" />
          ) : (
            <Failure what="The fields of the queue cannot be read." error={error} onRetry={retry} />
          )}
        </div>
      </main>
    );
  }
  if (readOnly !== undefined) {
    return (
      <main className="queue">
        <div className="queues-note">
          {back}
          <h1 className="given">{visibleLine(queue.data.name)}</h1>
          <p>{readOnly} An annotator claims items, which changes the queue.</p>
          <AgreementView projectId={projectId} queueId={queueId} />
        </div>
      </main>
    );
  }
  return (
    <WorkView
      key={queueId}
      projectId={projectId}
      queue={queue.data}
      fields={fields}
      others={others}
      userId={me.data.user.id}
      itemId={begun}
      back={back}
    />
  );
}
