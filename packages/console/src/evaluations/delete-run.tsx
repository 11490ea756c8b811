import { evaluationRunDelete } from "@heddle/client/tracing";
import { useEffect, useId, useRef, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { linkToProject } from "../project/project-link.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { visibleLine } from "../ui/visible-text.js";
import { deleteRunCommands } from "./evaluations-commands.js";
import { shortRef } from "./run-names.js";
import { isRunning } from "./use-runs.js";
import type { Run } from "./use-runs.js";

interface Props {
  projectId: string;
  run: Run;
  onDeleted: () => void;
  onClose: () => void;
}

/** Asks whether a run is deleted, which is how one that the service makes is cancelled. */
export function DeleteRun({ projectId, run, onDeleted, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const id = useId();
  const [state, setState] = useState<{ error?: unknown; isSending?: true }>({});
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Delete a run", modal: true }, deleteRunCommands, { close: onClose });
  const runs = isRunning(run);
  const finish = () => {
    onDeleted();
    onClose();
  };
  const send = () => {
    setState({ isSending: true });
    const request = { ...linkToProject(projectId).params, evaluation_run_ids: [run.evaluation_run_id] };
    evaluationRunDelete(session.connection, request).then(finish, (error: unknown) => setState({ error }));
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <div className="delete-run">
        <h2 id={id}>{runs ? "Cancel the run?" : "Delete the run?"}</h2>
        <p className="prose">
          <span className="given">{visibleLine(shortRef(run.evaluation))}</span> of{" "}
          <span className="given">{visibleLine(shortRef(run.model))}</span>:{" "}
          {runs
            ? "a run of the service stops, and what it has done so far is deleted with it. One that a program makes goes on there, and what it sends is not shown."
            : "its predictions, scores and all calls below them are deleted with it."}
        </p>
        {state.error !== undefined && <Failure what="Not deleted." error={state.error} />}
        <div>
          <button className="primary" disabled={state.isSending === true} onClick={send}>
            {runs ? "Cancel and delete the run" : "Delete the run"}
          </button>{" "}
          <button onClick={onClose}>Keep it</button>
        </div>
      </div>
    </dialog>
  );
}
