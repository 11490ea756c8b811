import { useNavigate } from "../router/routing.js";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { VirtualGrid } from "../grid/virtual-grid.js";
import { linkToProject } from "../project/project-link.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { counted } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { useMedia } from "../ui/use-media.js";
import { Waiting } from "../ui/waiting.js";
import { DeleteRun } from "./delete-run.js";
import { evaluationsCommands } from "./evaluations-commands.js";
import { idsIn, idsText, mostCompared } from "./evaluations-search.js";
import type { EvaluationsSearch } from "./evaluations-search.js";
import { runsColumns } from "./runs-columns.js";
import { StartRun } from "./start/start-run.js";
import { isRunning, runsKey, summaryRequest, useRuns } from "./use-runs.js";
import type { Run } from "./use-runs.js";

interface Props {
  projectId: string;
  search: EvaluationsSearch;
  onChange: (by: EvaluationsSearch, replace?: boolean) => void;
}

/** The runs of a project with their summaries, newest first. */
export function RunsList({ projectId, search, onChange }: Props) {
  const [range, setRange] = useState({ first: 0, end: 40 });
  const { runs, error, summaryError, refetch } = useRuns(projectId, range);
  const navigate = useNavigate();
  const client = useQueryClient();
  const readOnly = useReadOnlyReason();
  const [deleted, setDeleted] = useState<Run>();
  const count = runs?.length ?? 0;
  const found = runs?.findIndex(({ evaluation_run_id }) => evaluation_run_id === search.at) ?? -1;
  const current = found >= 0 ? found : count > 0 ? 0 : -1;
  const run = runs?.[current];
  const setCurrent = (index: number) =>
    onChange({ at: runs?.[Math.max(0, Math.min(count - 1, index))]?.evaluation_run_id }, true);
  const open = (index: number) => {
    const callId = runs?.[index]?.evaluation_run_id;
    if (callId === undefined) return;
    const { params } = linkToProject(projectId);
    void navigate({ to: "/$entity/$project/calls/$callId", params: { ...params, callId } });
  };
  const chosen = useMemo(() => idsIn(search.chosen), [search.chosen]);
  const choose = (id: string) =>
    onChange({ chosen: idsText(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]) }, true);
  const any = run !== undefined;
  useCommands({ scope: "Evaluations" }, evaluationsCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    first: any ? () => setCurrent(0) : undefined,
    last: any ? () => setCurrent(count - 1) : undefined,
    open: any ? () => open(current) : undefined,
    choose: any ? () => choose(run.evaluation_run_id) : undefined,
    compare:
      chosen.length > 1 && chosen.length <= mostCompared
        ? () => onChange({ base: chosen[0], vs: idsText(chosen.slice(1)) })
        : undefined,
    none: chosen.length > 0 ? () => onChange({ chosen: undefined }, true) : undefined,
    results: any ? () => onChange({ base: run.evaluation_run_id }) : undefined,
    start: readOnly === undefined ? () => onChange({ dialog: "start" }) : undefined,
    delete: any && readOnly === undefined ? () => setDeleted(run) : undefined,
    curl: any
      ? () =>
          copyText(
            asCurl(serviceUrl(), `/v2/${projectId}/eval_results/query`, summaryRequest([run.evaluation_run_id])),
            "the request as curl",
          )
      : undefined,
  });
  const isNarrow = useMedia("(max-width: 640px)");
  const columns = runsColumns(chosen, choose, isNarrow);
  const row = useCallback((index: number) => runs?.[index], [runs]);
  const want = useCallback((first: number, end: number) => setRange({ first, end }), []);
  return (
    <main className="evaluations">
      <h1 className="unseen">Evaluations of {projectId}</h1>
      <div className="evaluations-bar">
        <span className="quiet" role="status">
          {runs !== undefined && counted(count, "run")}
          {runs?.some(isRunning) === true && ` · ${counted(runs.filter(isRunning).length, "running", "running")}`}
        </span>
        {chosen.length > 0 && (
          <span>
            {chosen.length} chosen{" "}
            <button
              disabled={chosen.length < 2 || chosen.length > mostCompared}
              onClick={() => onChange({ base: chosen[0], vs: idsText(chosen.slice(1)) })}
            >
              Compare <kbd>=</kbd>
            </button>{" "}
            <span className="quiet">
              {chosen.length === 1 && "Choose another one to compare it with."}
              {chosen.length > mostCompared && `At most ${mostCompared} are compared at a time.`}
            </span>
          </span>
        )}
        <button onClick={() => onChange({ dialog: "start" })} disabled={readOnly !== undefined} title={readOnly}>
          Run an evaluation <kbd>n</kbd>
        </button>
        {any && (
          <button className="plain" onClick={() => onChange({ base: run.evaluation_run_id })}>
            Results <kbd>r</kbd>
          </button>
        )}
        {any && (
          <button className="plain" disabled={readOnly !== undefined} title={readOnly} onClick={() => setDeleted(run)}>
            {isRunning(run) ? "Cancel the run" : "Delete the run"} <kbd>Delete</kbd>
          </button>
        )}
      </div>
      {runs === undefined && error === null && <Waiting what="Loading evaluation runs" />}
      {error !== null && (
        <div className="evaluations-note">
          <Failure what="The runs cannot be read." error={error} onRetry={refetch} />
        </div>
      )}
      {summaryError !== null && (
        <div className="evaluations-note">
          <Failure what="Scores cannot be added up." error={summaryError} />
        </div>
      )}
      {runs !== undefined && count === 0 && <Empty projectId={projectId} />}
      {count > 0 && (
        <VirtualGrid
          label="Evaluation runs"
          columns={columns}
          count={count}
          row={row}
          onWant={want}
          current={current}
          onCurrent={setCurrent}
          onOpen={open}
          prepended={0}
          generation={0}
          total={count}
        />
      )}
      {search.dialog !== undefined && (
        <StartRun
          projectId={projectId}
          onChanged={() => void client.invalidateQueries({ queryKey: runsKey(projectId) })}
          onResults={(id, evaluation) => {
            const before = runs?.find(
              (of) => of.evaluation === evaluation && of.evaluation_run_id !== id && of.status === "completed",
            );
            onChange({
              dialog: undefined,
              base: before?.evaluation_run_id ?? id,
              vs: before === undefined ? undefined : idsText([id]),
            });
          }}
          onClose={() => onChange({ dialog: undefined }, true)}
        />
      )}
      {deleted !== undefined && (
        <DeleteRun
          projectId={projectId}
          run={deleted}
          onDeleted={() => {
            onChange({ chosen: idsText(chosen.filter((id) => id !== deleted.evaluation_run_id)) }, true);
            void client.invalidateQueries({ queryKey: runsKey(projectId) });
          }}
          onClose={() => setDeleted(undefined)}
        />
      )}
    </main>
  );
}

function Empty({ projectId }: { projectId: string }) {
  return (
    <div className="evaluations-note prose">
      <p>
        <span className="mono given">{projectId}</span> has no evaluation runs that your key may read.
      </p>
      <p>
        An evaluation gives each row of a dataset to a model and scores what it returns. The weave libraries run one by{" "}
        <code>weave.Evaluation(dataset=…, scorers=[…]).evaluate(model)</code>, and the service runs those of models and
        scorers that it knows. <a href={`${serviceUrl()}/docs/guides/evaluate-a-model/`}>How to evaluate a model</a>
      </p>
    </div>
  );
}
