import { annotationQueueDelete } from "@heddle/client/tracing";
import { useEffect, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { counted } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { queueDialogCommands } from "./queue-commands.js";
import type { QueueRow } from "./use-queues.js";

interface Props {
  projectId: string;
  row: QueueRow;
  onDeleted: () => void;
  onClose: () => void;
}

/** Asks before a queue is deleted. */
export function DeleteQueueDialog({ projectId, row: { queue, stats }, onDeleted, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const [state, setState] = useState<{ error?: unknown; isSending?: true }>({});
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Delete the queue", modal: true }, queueDialogCommands, { close: onClose });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setState({ isSending: true });
    const finish = () => {
      onDeleted();
      onClose();
    };
    annotationQueueDelete(session.connection, { project_id: projectId, queue_id: queue.id }).then(
      finish,
      (error: unknown) => setState({ error }),
    );
  };
  return (
    <dialog ref={dialog} aria-label="Delete the queue" onClose={onClose}>
      <form className="queue-form" onSubmit={submit}>
        <h2>
          Delete the queue <span className="given">{visibleLine(queue.name)}</span>
        </h2>
        <p className="prose">
          {stats === undefined ? "Its items" : `Its ${counted(stats.total_items, "item")}`} and who did them are
          deleted. The calls, and the answers on them, stay.
        </p>
        {state.error !== undefined && <Failure what="The queue was not deleted." error={state.error} />}
        <div>
          <button className="primary" disabled={state.isSending === true}>
            Delete the queue
          </button>{" "}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
