import { cancelTrainingJob } from "@heddle/client/training";
import type { TrainingJob } from "@heddle/client/training";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { kindNames } from "./job-kind.js";
import { JobProgress, JobState } from "./job-state.js";

const dialogCommands = { close: { title: "Close", keys: ["Escape"] } };

/** Asks whether a job is to be cancelled, and does it. */
export function CancelDialog({ job, model, onClose }: { job: TrainingJob; model: string; onClose: () => void }) {
  const session = useSession();
  const client = useQueryClient();
  const readOnly = useReadOnlyReason();
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState<{ isSending?: true; error?: unknown }>({});
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Cancel a job", modal: true }, dialogCommands, { close: onClose });
  const send = async () => {
    setState({ isSending: true });
    try {
      await cancelTrainingJob(session.training, { training_job_id: job.id });
      onClose();
      await client.invalidateQueries({ predicate: ({ queryKey: [name] }) => String(name).startsWith("training-") });
    } catch (error) {
      setState({ error });
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  return (
    <dialog ref={dialog} aria-label="Cancel the job" onClose={onClose}>
      <form className="training-dialog" onSubmit={submit}>
        <h2>Cancel the job</h2>
        <p className="prose">
          The {kindNames[job.kind]} job of <span className="mono given">{model}</span> ends without a checkpoint; what
          it has learned so far is lost. <JobState job={job} /> <JobProgress job={job} />
        </p>
        {readOnly !== undefined && <p className="is-error">{readOnly}</p>}
        {state.error !== undefined && <Failure what="The job was not cancelled." error={state.error} />}
        <div>
          <button className="primary" disabled={readOnly !== undefined || state.isSending === true}>
            Cancel the job
          </button>{" "}
          <button type="button" onClick={onClose}>
            Let it run
          </button>
        </div>
      </form>
    </dialog>
  );
}
