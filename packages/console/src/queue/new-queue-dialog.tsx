import { annotationQueueCreate } from "@heddle/client/tracing";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { newId } from "../data/new-id.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { NewField } from "./fields/new-field.js";
import { useSpecifications } from "./fields/use-specifications.js";
import { queueDialogCommands } from "./queue-commands.js";

interface Props {
  projectId: string;
  onMade: (queueId: string) => void;
  onClose: () => void;
}

/** Makes a queue: its name, what annotators are told, and what they are asked. */
export function NewQueueDialog({ projectId, onMade, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const id = useId();
  // Sent again, it is the same queue.
  const [retryId] = useState(newId);
  const readOnly = useReadOnlyReason();
  const { data, error, refetch } = useSpecifications(projectId);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [state, setState] = useState<{ error?: unknown; isSending?: true }>({});
  const [isNew, setNew] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "New queue", modal: true }, queueDialogCommands, { close: onClose });
  const toggle = (ref: string) =>
    setChosen(chosen.includes(ref) ? chosen.filter((one) => one !== ref) : [...chosen, ref]);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => {
      const value = form.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    setState({ isSending: true });
    annotationQueueCreate(
      session.connection,
      { project_id: projectId, name: text("name"), description: text("description"), scorer_refs: [...chosen] },
      { retryId },
    ).then(
      ({ id: queueId }) => onMade(queueId),
      (failed: unknown) => setState({ error: failed }),
    );
  };
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <div className="queue-form">
        <h2 id={`${id}-title`}>Make a queue</h2>
        <form id={`${id}-form`} className="queue-form" onSubmit={submit}>
          <label>
            Name <input name="name" required maxLength={256} autoComplete="off" />
          </label>
          <label>
            Guideline: what annotators are to do, shown beside each item
            <textarea name="description" rows={4} maxLength={100_000} />
          </label>
        </form>
        <fieldset className="queue-fields">
          <legend>What they are asked, in this order</legend>
          {data === undefined && error === null && <Waiting what="Loading fields" />}
          {error !== null && <Failure what="The fields cannot be read." error={error} onRetry={() => refetch()} />}
          {data?.length === 0 && !isNew && <p className="quiet">The project has no fields yet.</p>}
          {data?.map(({ ref, name, title }) => (
            <label key={ref} className="queue-check">
              <input type="checkbox" checked={chosen.includes(ref)} onChange={() => toggle(ref)} />
              <span className="given">{visibleLine(title)}</span>
              {title !== name && <span className="quiet given mono">{visibleLine(name)}</span>}
              {chosen.includes(ref) && chosen.length > 1 && <span className="quiet">{chosen.indexOf(ref) + 1}.</span>}
            </label>
          ))}
          {isNew ? (
            <NewField
              projectId={projectId}
              onMade={(ref) => {
                setNew(false);
                setChosen([...chosen, ref]);
                void refetch();
              }}
              onCancel={() => setNew(false)}
            />
          ) : (
            <button type="button" disabled={readOnly !== undefined} onClick={() => setNew(true)}>
              New field…
            </button>
          )}
        </fieldset>
        {readOnly !== undefined && <p className="is-error">{readOnly}</p>}
        {state.error !== undefined && <Failure what="The queue was not made." error={state.error} />}
        <div>
          <button form={`${id}-form`} className="primary" disabled={readOnly !== undefined || state.isSending === true}>
            Make the queue
          </button>{" "}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </dialog>
  );
}
