import { useNavigate, useParams, useSearch } from "../router/routing.js";
import { useCallback, useMemo, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { shellWord } from "../data/as-curl.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { VirtualGrid } from "../grid/virtual-grid.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCount } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { useMedia } from "../ui/use-media.js";
import { Waiting } from "../ui/waiting.js";
import { BaseModels } from "./base-models.js";
import { CancelDialog } from "./cancel-dialog.js";
import { jobColumns } from "./job-columns.js";
import { wordOfStatus } from "./job-state.js";
import { ModelsTable } from "./models-table.js";
import { trainingCommands } from "./training-commands.js";
import { isActive, jobStatuses, readTrainingSearch } from "./training-search.js";
import { mostListed, useJobs, useModels } from "./use-training.js";
import "./training.css";

/** Jobs and models of a project, and what training can begin with. */
export function TrainingScreen() {
  const from = "/$entity/$project/training";
  const { entity, project } = useParams({ from });
  const { at, status } = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const navigate = useNavigate({ from });
  const jobs = useJobs(projectId, status);
  const all = useJobs(projectId, undefined);
  const models = useModels(projectId);
  const readOnly = useReadOnlyReason();
  const [cancelled, setCancelled] = useState<string>();
  const listed = jobs.data?.items;
  const count = listed?.length ?? 0;
  const found = listed?.findIndex(({ id }) => id === at) ?? -1;
  const current = found >= 0 ? found : count > 0 ? 0 : -1;
  const job = listed?.[current];
  const setCurrent = (index: number) => {
    const id = listed?.[Math.max(0, Math.min(count - 1, index))]?.id;
    void navigate({ search: (given) => ({ ...given, at: id }), replace: true });
  };
  const open = (index: number) => {
    const of = listed?.[index];
    if (of === undefined) return;
    void navigate({
      to: "/$entity/$project/training/$modelId",
      params: { entity, project, modelId: of.model_id },
      search: { job: of.id },
    });
  };
  const any = job !== undefined;
  useCommands({ scope: "Training" }, trainingCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    first: any ? () => setCurrent(0) : undefined,
    last: any ? () => setCurrent(count - 1) : undefined,
    open: any ? () => open(current) : undefined,
    cancel: any && isActive(job) && readOnly === undefined ? () => setCancelled(job.id) : undefined,
    curl: () => copyText(jobsAsCurl(projectId, status), "the request as curl"),
  });
  const isNarrow = useMedia("(max-width: 640px)");
  const names = useMemo(() => new Map(models.data?.items.map(({ id, name }) => [id, name])), [models.data]);
  const columns = useMemo(
    () => jobColumns(projectId, (id) => names.get(id) ?? id, isNarrow),
    [projectId, names, isNarrow],
  );
  const row = useCallback((index: number) => listed?.[index], [listed]);
  const asked = all.data?.items.find(({ id }) => id === cancelled) ?? listed?.find(({ id }) => id === cancelled);
  return (
    <main className="training">
      <h1 className="unseen">Training of {projectId}</h1>
      <div className="training-bar">
        <label>
          Jobs{" "}
          <select
            aria-label="State"
            value={status ?? ""}
            onChange={({ target }) => void navigate({ search: readTrainingSearch({ status: target.value }) })}
          >
            <option value="">in every state</option>
            {jobStatuses.map((each) => (
              <option key={each} value={each}>
                {wordOfStatus(each)}
              </option>
            ))}
          </select>
        </label>
        <span className="quiet" role="status">
          {jobs.data !== undefined &&
            (jobs.data.hasMore ? `the newest ${formatCount(mostListed)} jobs` : counted(count, "job"))}
        </span>
        <button
          disabled={!any || !isActive(job) || readOnly !== undefined}
          title={readOnly}
          onClick={() => setCancelled(job?.id)}
        >
          Cancel the job <kbd>Delete</kbd>
        </button>
      </div>
      {jobs.data === undefined && jobs.error === null && <Waiting what="Loading the jobs" />}
      {jobs.error !== null && (
        <div className="training-part">
          <Failure what="The jobs cannot be read." error={jobs.error} onRetry={() => jobs.refetch()} />
        </div>
      )}
      {listed !== undefined && count === 0 && <NoJobs projectId={projectId} isFiltered={status !== undefined} />}
      {count > 0 && (
        <div className="training-jobs" style={{ height: Math.min(12, count + 2) * 28 }}>
          <VirtualGrid
            label="Training jobs"
            columns={columns}
            count={count}
            row={row}
            current={current}
            onCurrent={setCurrent}
            onOpen={open}
            total={count}
          />
        </div>
      )}
      <section aria-labelledby="models" className="training-part">
        <h2 id="models">Models</h2>
        {models.data === undefined && models.error === null && <Waiting what="Loading the models" />}
        {models.error !== null && (
          <Failure what="The models cannot be read." error={models.error} onRetry={() => models.refetch()} />
        )}
        {models.data?.items.length === 0 && <p className="quiet">The project has no models yet.</p>}
        {models.data !== undefined && models.data.items.length > 0 && (
          <ModelsTable projectId={projectId} models={models.data.items} jobs={all.data?.items} />
        )}
        {models.data?.hasMore === true && <p className="quiet">The first {formatCount(mostListed)} are listed.</p>}
      </section>
      <BaseModels />
      {asked !== undefined && (
        <CancelDialog
          job={asked}
          model={names.get(asked.model_id) ?? asked.model_id}
          onClose={() => setCancelled(undefined)}
        />
      )}
    </main>
  );
}

function jobsAsCurl(projectId: string, status: string | undefined): string {
  const query = new URLSearchParams({ project_id: projectId, limit: "100", ...(status !== undefined && { status }) });
  return `curl -u "api:$HEDDLE_API_KEY" ${shellWord(`${serviceUrl()}/v1/preview/training-jobs?${query.toString()}`)}`;
}

function NoJobs({ projectId, isFiltered }: { projectId: string; isFiltered: boolean }) {
  if (isFiltered)
    return (
      <p className="training-part">
        <span>
          <span className="mono given">{projectId}</span> has no jobs in this state.
        </span>
      </p>
    );
  return (
    <div className="training-part prose">
      <p>
        <span className="mono given">{projectId}</span> has trained nothing yet.
      </p>
      <p>
        A job trains a model: on trajectories with rewards, which a script sends, on recorded calls, or on examples.{" "}
        <a href={`${serviceUrl()}/docs/guides/train-with-rewards/`}>How to train</a>
      </p>
    </div>
  );
}
