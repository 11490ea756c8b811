import type { Checkpoint } from "@heddle/client/training";
import { Link, useNavigate, useParams, useSearch } from "../router/routing.js";
import { useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { isNotFound } from "../data/is-not-found.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { Failure } from "../ui/failure.js";
import { counted } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { CancelDialog } from "./cancel-dialog.js";
import { CheckpointsTable } from "./checkpoints-table.js";
import { Curves } from "./curves/curves.js";
import { JobFacts } from "./job-facts.js";
import { Rollouts } from "./rollouts/rollouts.js";
import { modelCommands } from "./training-commands.js";
import { isActive } from "./training-search.js";
import { useCheckpoints, useModel, useModelJobs } from "./use-model.js";
import "./training.css";

const from = "/$entity/$project/training/$modelId";

const none: readonly Checkpoint[] = [];

/** How one model was trained: its jobs, what was measured, and its checkpoints. */
export function ModelScreen() {
  const { entity, project, modelId } = useParams({ from });
  const { job: jobId, x = "step", rollout, side } = useSearch({ from });
  const navigate = useNavigate({ from });
  const model = useModel(modelId);
  const jobs = useModelJobs(`${entity}/${project}`, modelId);
  const list = jobs.data?.items;
  const checkpoints = useCheckpoints(modelId, list?.some(isActive) ?? false);
  // Its jobs and checkpoints go with it: what this page still has is of nothing any more.
  const wasDeleted = model.data !== undefined && [model.error, jobs.error, checkpoints.error].some(isNotFound);
  const job = wasDeleted ? undefined : (list?.find(({ id }) => id === jobId) ?? list?.[0]);
  const readOnly = useReadOnlyReason();
  const [isCancelling, setCancelling] = useState(false);
  const canCancel = job !== undefined && isActive(job) && readOnly === undefined;
  useCommands({ scope: "Trained model" }, modelCommands, {
    cancel: canCancel ? () => setCancelling(true) : undefined,
    back: () => void navigate({ to: "/$entity/$project/training", params: { entity, project }, search: { at: jobId } }),
  });
  const name = model.data?.name ?? "";
  const error = model.error ?? jobs.error;
  const showJobOf = (step: number) => {
    const creatorJob = checkpoints.data?.items.find((checkpoint) => checkpoint.step === step)?.job_id;
    if (typeof creatorJob === "string")
      void navigate({ search: (given) => ({ ...given, job: creatorJob, rollout: undefined }) });
  };
  return (
    <main className="training">
      <header className="training-bar">
        <Link to="/$entity/$project/training" params={{ entity, project }} search={{ at: jobId }}>
          ← training
        </Link>
        <h1 className="given">{visibleLine(name) || "A model"}</h1>
        {model.data !== undefined && (
          <span className="quiet">
            on <span className="mono given">{visibleLine(model.data.base_model)}</span>
          </span>
        )}
        {job !== undefined && list !== undefined && list.length > 1 && (
          <label>
            Job{" "}
            <select
              value={job.id}
              onChange={({ target }) =>
                void navigate({ search: (given) => ({ ...given, job: target.value, rollout: undefined }) })
              }
            >
              {list.map((each, index) => (
                <option key={each.id} value={each.id}>
                  {list.length - index} {each.step === null ? each.status.toLowerCase() : `→ step ${each.step}`}
                </option>
              ))}
            </select>
          </label>
        )}
        {canCancel && (
          <button onClick={() => setCancelling(true)}>
            Cancel the job <kbd>Delete</kbd>
          </button>
        )}
      </header>
      {wasDeleted && (
        <div className="training-part prose" role="alert">
          <h2>The model was deleted</h2>
          <p>Somebody has deleted it meanwhile, with its jobs, checkpoints and rollouts. Its calls are still there.</p>
        </div>
      )}
      {error !== null && !wasDeleted && (
        <div className="training-part">
          <Failure
            what={
              model.data === undefined
                ? "The model cannot be read: it may have been deleted, with its jobs and checkpoints."
                : "What is shown may be old."
            }
            error={error}
            onRetry={() => Promise.all([model.refetch(), jobs.refetch()])}
          />
        </div>
      )}
      {jobs.data === undefined && error === null && <Waiting what="Loading the jobs" />}
      {list?.length === 0 && model.data !== undefined && !wasDeleted && (
        <p className="training-part">The model has not been trained yet.</p>
      )}
      {job !== undefined && (
        <section className="training-part" aria-label="Job">
          <JobFacts projectId={`${entity}/${project}`} job={job} />
        </section>
      )}
      {checkpoints.error !== null && model.data !== undefined && !wasDeleted && (
        <div className="training-part">
          <Failure
            what="The checkpoints cannot be read."
            error={checkpoints.error}
            onRetry={() => checkpoints.refetch()}
          />
        </div>
      )}
      {job !== undefined && (
        <Curves
          job={job}
          checkpoints={checkpoints.data?.items ?? none}
          axis={x}
          onAxis={(axis) =>
            void navigate({
              search: (given) => ({ ...given, x: axis === "step" ? undefined : axis }),
              replace: true,
            })
          }
          onStep={showJobOf}
        />
      )}
      {job !== undefined && (
        <Rollouts
          key={job.id}
          projectId={`${entity}/${project}`}
          job={job}
          at={rollout}
          isSide={side !== undefined}
          onSide={() =>
            void navigate({
              search: (given) => ({ ...given, side: side === undefined ? "group" : undefined }),
              replace: true,
            })
          }
          onAt={(id) => void navigate({ search: (given) => ({ ...given, rollout: id }), replace: true })}
        />
      )}
      {checkpoints.data !== undefined && !wasDeleted && (
        <section className="training-part" aria-labelledby="checkpoints">
          <h2 id="checkpoints">{counted(checkpoints.data.items.length, "checkpoint")}</h2>
          <CheckpointsTable
            projectId={`${entity}/${project}`}
            modelId={modelId}
            checkpoints={checkpoints.data.items}
            current={job?.step ?? undefined}
          />
        </section>
      )}
      {isCancelling && job !== undefined && (
        <CancelDialog job={job} model={name} onClose={() => setCancelling(false)} />
      )}
    </main>
  );
}
