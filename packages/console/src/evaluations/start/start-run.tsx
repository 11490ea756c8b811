import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { newId } from "../../data/new-id.js";
import { useReadOnlyReason } from "../../data/use-read-only.js";
import { serviceUrl } from "../../session/service-url.js";
import { useSession } from "../../session/session-context.js";
import { Failure } from "../../ui/failure.js";
import { counted } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { startRunCommands } from "../evaluations-commands.js";
import { runnableClass, startRun } from "./new-run.js";
import { RunProgress } from "./run-progress.js";
import { useChoices, useColumns } from "./use-choices.js";
import "./start-run.css";

interface Props {
  projectId: string;
  /** A run was made, cancelled, or has ended. */
  onChanged: () => void;
  onResults: (runId: string, evaluation: string) => void;
  onClose: () => void;
}

const isNew = "new";
const mostTrials = 10_000;

/** Asks what is evaluated on which rows and by what, has the service do it, and shows how far it is. */
export function StartRun({ projectId, onChanged, onResults, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const session = useSession();
  const client = useQueryClient();
  const readOnly = useReadOnlyReason();
  // What is sent twice begins one run.
  const [retryIds] = useState(() => new Map<string, string>());
  const [datasets, models, scorers] = [
    useChoices(projectId, "Dataset"),
    useChoices(projectId, "Model"),
    useChoices(projectId, "Scorer"),
  ];
  const runnable = models.data?.filter(({ className }) => className === runnableClass);
  const [datasetRef, setDatasetRef] = useState<string>();
  const [modelRef, setModelRef] = useState<string>();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [exact, setExact] = useState("");
  const [state, setState] = useState<{ isSending?: true; error?: unknown; runId?: string; evaluation?: string }>({});
  const dataset = datasets.data?.find(({ ref }) => ref === datasetRef) ?? datasets.data?.[0];
  const model = modelRef ?? runnable?.[0]?.ref ?? isNew;
  const columns = useColumns(projectId, dataset);
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "New run", modal: true }, startRunCommands, { close: onClose });
  const failed = [datasets, models, scorers, columns].find(({ error }) => error !== null)?.error;
  const others = (models.data?.length ?? 0) - (runnable?.length ?? 0);
  const hasScorer = chosen.length > 0 || exact !== "";
  const begin = async (target: HTMLFormElement) => {
    if (dataset === undefined) return;
    const form = new FormData(target);
    const text = (name: string) => {
      const value = form.get(name);
      return typeof value === "string" ? value : "";
    };
    const retryIdOf = (of: string): string => {
      const known = retryIds.get(of) ?? newId();
      retryIds.set(of, known);
      return known;
    };
    setState({ isSending: true });
    const run = {
      name: text("name").trim(),
      dataset: dataset.ref,
      model: model === isNew ? { name: text("model"), served: text("served"), prompt: text("prompt") } : model,
      scorers: chosen,
      exact: exact === "" ? undefined : exact,
      trials: Number(text("trials")),
    };
    try {
      setState(await startRun(session, projectId, run, retryIdOf));
      // What was stored for it can be chosen from now on.
      void client.invalidateQueries({ queryKey: ["evaluation-choices", projectId] });
      onChanged();
    } catch (error) {
      setState({ error });
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void begin(event.currentTarget);
  };
  const { runId, evaluation = "" } = state;
  const isLoading = datasets.data === undefined || models.data === undefined || scorers.data === undefined;
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <div className="start-run">
        <h2 id={id}>{runId === undefined ? "Run an evaluation" : "The evaluation"}</h2>
        {failed !== undefined && (
          <Failure
            what="What there is to choose cannot be read."
            error={failed}
            onRetry={() => Promise.all([datasets, models, scorers, columns].map(({ refetch }) => refetch()))}
          />
        )}
        {isLoading && failed === undefined && <Waiting what="Loading datasets, models and scorers" />}
        {datasets.data?.length === 0 && (
          <p className="prose">
            The project has no datasets. Choose calls in the table and put them into one, or{" "}
            <a href={`${serviceUrl()}/docs/guides/evaluate-a-model/`}>store one with a program</a>.
          </p>
        )}
        {runId !== undefined ? (
          <RunProgress
            projectId={projectId}
            runId={runId}
            onChanged={onChanged}
            onResults={() => onResults(runId, evaluation)}
            onClose={onClose}
          />
        ) : (
          !isLoading &&
          dataset !== undefined && (
            <form className="start-run" onSubmit={submit}>
              <label>
                Dataset
                <select value={dataset.ref} onChange={({ target }) => setDatasetRef(target.value)}>
                  {datasets.data.map(({ ref, name }) => (
                    <option key={ref} value={ref}>
                      {visibleLine(name)}
                    </option>
                  ))}
                </select>
                {columns.data !== undefined && (
                  <span className="quiet given">
                    {columns.data.length === 0
                      ? "The dataset has no rows with columns."
                      : `Columns: ${columns.data.slice(0, 20).map(visibleLine).join(", ")}`}
                  </span>
                )}
              </label>
              <label>
                Model
                <select value={model} onChange={({ target }) => setModelRef(target.value)}>
                  {runnable?.map(({ ref, name }) => (
                    <option key={ref} value={ref}>
                      {visibleLine(name)}
                    </option>
                  ))}
                  <option value={isNew}>a new one…</option>
                </select>
                {others > 0 && (
                  <span className="quiet">
                    {counted(others, "model")} that only a program can run {others === 1 ? "is" : "are"} not offered.
                  </span>
                )}
              </label>
              {model === isNew && (
                <fieldset className="start-run">
                  <legend>The new model</legend>
                  <label>
                    Name <input name="model" required maxLength={100} autoComplete="off" />
                  </label>
                  <label>
                    <span>
                      Model of a provider, as <code>provider/model</code>
                    </span>
                    <input name="served" className="mono" required pattern="[^\/]+\/.+" autoComplete="off" />
                  </label>
                  <label key={dataset.ref}>
                    What it is asked, with columns in braces
                    <textarea
                      name="prompt"
                      required
                      rows={3}
                      defaultValue={columns.data?.[0] === undefined ? "" : `{${columns.data[0]}}`}
                    />
                  </label>
                </fieldset>
              )}
              <fieldset className="start-run">
                <legend>Scorers</legend>
                {scorers.data.map(({ ref, name, className }) => (
                  <label key={ref} className="start-check">
                    <input
                      type="checkbox"
                      checked={chosen.includes(ref)}
                      onChange={() =>
                        setChosen(chosen.includes(ref) ? chosen.filter((one) => one !== ref) : [...chosen, ref])
                      }
                    />
                    <span className="given">{visibleLine(name)}</span>
                    <span className="quiet given">{visibleLine(className ?? "")}</span>
                  </label>
                ))}
                <label>
                  Whether the output is the same as the column
                  <select value={exact} onChange={({ target }) => setExact(target.value)}>
                    <option value="">none</option>
                    {columns.data?.map((column) => (
                      <option key={column} value={column}>
                        {visibleLine(column)}
                      </option>
                    ))}
                  </select>
                </label>
              </fieldset>
              <label>
                Trials of each row
                <input name="trials" type="number" min={1} max={mostTrials} step={1} defaultValue={1} required />
              </label>
              <label key={dataset.name}>
                Name of the evaluation
                <input
                  name="name"
                  required
                  maxLength={100}
                  defaultValue={`${dataset.name.slice(0, 89)}-evaluation`}
                  autoComplete="off"
                />
                <span className="quiet">Runs of one evaluation are compared row by row.</span>
              </label>
              {readOnly !== undefined && <p className="is-error">{readOnly}</p>}
              {state.error !== undefined && <Failure what="The run was not begun." error={state.error} />}
              <div>
                <button
                  className="primary"
                  disabled={readOnly !== undefined || state.isSending === true || !hasScorer}
                  title={hasScorer ? undefined : "Choose a scorer first"}
                >
                  Run it
                </button>{" "}
                <button type="button" onClick={onClose}>
                  Cancel
                </button>
              </div>
            </form>
          )
        )}
        {runId === undefined && dataset === undefined && !isLoading && (
          <div>
            <button onClick={onClose}>Close</button>
          </div>
        )}
      </div>
    </dialog>
  );
}
