import type { ServedModel } from "@heddle/client/training";
import { useNavigate, useParams, useSearch } from "../router/routing.js";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { ActionDialog } from "../calls/actions/action-dialog.js";
import { readCallsSearch } from "../calls/calls-search.js";
import { useCallPages } from "../calls/use-call-pages.js";
import { replayAsCurl } from "../call/replay/replay.js";
import { useCommands } from "../commands/use-commands.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { useSession } from "../session/session-context.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { formatCount } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { Waiting } from "../ui/waiting.js";
import { ModelColumn, RecordedColumn } from "./columns.js";
import { bodyOf, emptyDraft } from "./draft.js";
import type { Draft } from "./draft.js";
import { DraftEditor } from "./draft-editor.js";
import { playCommands } from "./play-commands.js";
import { modelsOf, mostModels } from "./play-search.js";
import { PromptDialog } from "./prompt-dialog.js";
import { Runs } from "./runs.js";
import { useModels, useRecorded } from "./use-playground.js";
import "./play.css";

const from = "/$entity/$project/play";

/** A request tried on several models side by side. */
export function PlayScreen() {
  const { entity, project } = useParams({ from });
  const search = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const navigate = useNavigate({ from });
  const session = useSession();
  const readOnly = useReadOnlyReason();
  const recorded = useRecorded(projectId, search.call);
  const served = useModels();
  // Answers are those to one recorded call.
  const runs = useMemo(() => new Runs(session, search.call), [session, search.call]);
  const state = useSyncExternalStore(runs.subscribe, runs.state);
  useEffect(() => () => runs.stop(), [runs]);
  const [edited, setEdited] = useState<{ call: string | undefined; draft: Draft }>();
  const [isSaving, setSaving] = useState(false);
  const [mistakes, setMistakes] = useState<ReadonlyMap<string, string>>(new Map());
  const [adding, setAdding] = useState<{ projectId: string; callId: string }>();
  const picker = useRef<HTMLSelectElement>(null);
  const draft = edited?.call === search.call && edited ? edited.draft : (recorded.data?.draft ?? emptyDraft);
  const known = served.data ?? [];
  const named = modelsOf(search);
  const asRecorded = known.find(({ id }) => id === recorded.data?.model)?.id;
  const models = named.length > 0 ? named : [asRecorded ?? known[0]?.id ?? []].flat();
  const setModels = (next: readonly string[]) =>
    void navigate({ search: (given) => ({ ...given, models: next.join(",") || undefined }), replace: true });
  const add = (model: string) => {
    if (model !== "" && models.length < mostModels) setModels([...models, model]);
  };
  const isRunning = [...state.values()].some(({ status }) => status === "running");
  const mayRun = readOnly === undefined && models.length > 0 && mistakes.size === 0;
  const run = () => {
    for (const model of models) runs.start({ draft, projectId, model });
  };
  const projectOf = (model: string) => {
    const of = servedAs(known, model);
    const parts = (of?.id ?? model).split("/");
    return of?.parent !== null && parts.length >= 3 ? parts.slice(0, 2).join("/") : projectId;
  };
  const { pages, state: pagesState } = useCallPages(projectId, readCallsSearch({ ...search }));
  const index = search.call === undefined ? -1 : pages.indexOf(search.call);
  useEffect(() => {
    if (index >= 0) pages.want(index, index + 1);
  }, [pages, index, pagesState.count]);
  const open = (at: number) => {
    const id = index < 0 ? undefined : pages.row(at)?.id;
    if (id === undefined) return undefined;
    return () =>
      void navigate({ search: (given) => ({ ...given, call: id, models: models.join(",") }), replace: true });
  };
  const first = models.find((model) => state.get(model)?.callId !== undefined && state.get(model)?.status === "done");
  const addToDataset = (model: string) => {
    const callId = state.get(model)?.callId;
    if (callId !== undefined) setAdding({ projectId: projectOf(model), callId });
  };
  useCommands({ scope: "Playground" }, playCommands, {
    run: mayRun ? run : undefined,
    stop: isRunning ? () => runs.stop() : undefined,
    model: models.length < mostModels ? () => picker.current?.focus() : undefined,
    previous: open(index - 1),
    next: open(index + 1),
    save: readOnly === undefined ? () => setSaving(true) : undefined,
    dataset: first === undefined || readOnly !== undefined ? undefined : () => addToDataset(first),
    curl:
      models[0] === undefined
        ? undefined
        : () => copyText(replayAsCurl(serviceUrl(), bodyOf(draft, models[0] ?? "")), "the request as curl"),
  });
  if (search.call !== undefined && recorded.data === undefined) {
    return (
      <main className="play">
        {recorded.error === null ? (
          <Waiting what="Loading the call" />
        ) : (
          <Failure what="The call cannot be read." error={recorded.error} onRetry={() => recorded.refetch()} />
        )}
      </main>
    );
  }
  return (
    <main className="play">
      <h1 className="unseen">Playground of {projectId}</h1>
      <div className="play-bar">
        <button className="primary" disabled={!mayRun} onClick={run}>
          Run <kbd>Ctrl+Enter</kbd>
        </button>
        {isRunning && (
          <button onClick={() => runs.stop()}>
            Stop <kbd>Ctrl+.</kbd>
          </button>
        )}
        <label>
          Add a model{" "}
          <select
            ref={picker}
            aria-label="Add a model"
            value=""
            disabled={models.length >= mostModels}
            onChange={({ target }) => {
              add(target.value);
              // Keys are commands again.
              target.blur();
            }}
          >
            <option value="">{served.data === undefined ? "loading…" : "choose"}</option>
            {known
              .filter(({ id }) => !models.includes(id))
              .slice(0, 500)
              .map(({ id }) => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
          </select>
        </label>
        <button disabled={readOnly !== undefined} onClick={() => setSaving(true)}>
          Save as a prompt <kbd>Ctrl+S</kbd>
        </button>
        {index >= 0 && (
          <span className="quiet">
            call {formatCount(index + 1)}
            {pagesState.total?.exact === true && ` of ${formatCount(pagesState.total.value)}`} <kbd>[</kbd> <kbd>]</kbd>
          </span>
        )}
        {readOnly !== undefined && <span className="quiet">{readOnly}</span>}
      </div>
      {served.error !== null && (
        <Failure what="The models cannot be listed." error={served.error} onRetry={() => served.refetch()} />
      )}
      {recorded.data === null && (
        <p className="prose" role="alert">
          ✗ The call <span className="mono given">{search.call}</span> is not there, or is none of a chat model: this is
          an empty prompt.
        </p>
      )}
      {served.data?.length === 0 && (
        <p className="prose">
          This service has no models.{" "}
          <a href={`${serviceUrl()}/docs/guides/chat-completions/`}>How models are connected</a>
        </p>
      )}
      <div className="play-work">
        <DraftEditor
          key={search.call ?? ""}
          draft={draft}
          onDraft={(next) => setEdited({ call: search.call, draft: next })}
          onMistakes={setMistakes}
        />
        <div className="play-columns">
          {models.map((model) => {
            const of = servedAs(known, model);
            const base = of?.parent ?? undefined;
            return (
              <ModelColumn
                key={model}
                model={model}
                isUnknown={served.data !== undefined && of === undefined}
                run={state.get(model)}
                callProjectId={projectOf(model)}
                base={base}
                hasBase={base !== undefined && models.includes(base)}
                onBase={add}
                onRetry={mayRun ? () => runs.start({ draft, projectId, model }) : undefined}
                onRemove={() => setModels(models.filter((one) => one !== model))}
                onDataset={readOnly === undefined ? () => addToDataset(model) : undefined}
              />
            );
          })}
          {recorded.data !== undefined && recorded.data !== null && (
            <RecordedColumn recorded={recorded.data} projectId={projectId} callId={search.call ?? ""} />
          )}
        </div>
      </div>
      {isSaving && <PromptDialog projectId={projectId} draft={draft} onClose={() => setSaving(false)} />}
      {adding !== undefined && (
        <ActionDialog
          action="dataset"
          projectId={adding.projectId}
          selection={{ filter: { call_ids: [adding.callId] } }}
          order={[]}
          paths={["inputs.messages", "output.choices.0.message.content"]}
          onDone={() => undefined}
          onClose={() => setAdding(undefined)}
        />
      )}
    </main>
  );
}

/** The listed model that a name means, which may also have a step, or be the address of its artifact. */
function servedAs(known: readonly ServedModel[], model: string): ServedModel | undefined {
  const name = model.replace(/^(?:heddle|wandb)-artifact:\/{2,3}/, "");
  return (
    known.find(({ id }) => id === model) ??
    known.find(({ id }) => name === id || name.startsWith(`${id}:`) || name.startsWith(`${id}@`))
  );
}
