import { feedbackQuery } from "@heddle/client/tracing";
import { listModels } from "@heddle/client/training";
import type { Model } from "@heddle/client/training";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../../router/routing.js";
import { useState } from "react";
import type { FormEvent } from "react";
import { newId } from "../../data/new-id.js";
import { useReadOnlyReason } from "../../data/use-read-only.js";
import { linkToProject, linkToScreen } from "../../project/project-link.js";
import { useSession } from "../../session/session-context.js";
import { Failure } from "../../ui/failure.js";
import { counted } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { mostAtOnce } from "./calls-to-act-on.js";
import type { ActionProps } from "./action-props.js";
import { rewardSources } from "./reward-sources.js";
import { leastTitles, previewTraining, startTraining, trainKinds, trainRequest } from "./train-request.js";
import type { TrainKind } from "./train-request.js";
import { TrainPreview } from "./train-preview.js";

/** Models, and pieces of the newest feedback, that are looked through. */
const [mostModels, newestFeedback] = [200, 1000];

/** Shows what a job would be trained on before it is started: groups, rewards, advantages, and what is left out and why. */
export function TrainAction({ projectId, selection, order, onDone, onClose }: ActionProps) {
  const session = useSession();
  const readOnly = useReadOnlyReason();
  const [kind, setKind] = useState<TrainKind>("rl");
  const [modelId, setModelId] = useState<string>();
  const [source, setSource] = useState<number>(0);
  const [groupBy, setGroupBy] = useState("inputs.messages");
  const [least, setLeast] = useState("");
  // One for each time that the dialog is open: what is sent twice starts one job.
  const [requestId] = useState(newId);
  const [state, setState] = useState<{ isSending?: true; error?: unknown; job?: { id: string; model_id: string } }>({});
  const models = useQuery({
    queryKey: ["models-to-train", projectId],
    queryFn: async ({ signal }) => {
      const found: Model[] = [];
      for await (const model of listModels(session.training, { project_id: projectId, limit: 100 }, { signal }))
        if (found.push(model) === mostModels) break;
      return found;
    },
  });
  const rewards = useQuery({
    queryKey: ["reward-sources", projectId],
    queryFn: async ({ signal }) => {
      const { result } = await feedbackQuery(
        session.connection,
        {
          project_id: projectId,
          fields: ["feedback_type", "payload"],
          sort_by: [{ field: "created_at", direction: "desc" }],
          limit: newestFeedback,
        },
        { signal },
      );
      return rewardSources(result as { feedback_type: string; payload: unknown }[]);
    },
  });
  const { search, ...calls } = selection;
  const model = modelId ?? models.data?.[0]?.id ?? "";
  const reward = rewards.data?.[source];
  const minimum = least.trim() === "" ? undefined : Number(least);
  const request = trainRequest({
    kind,
    model,
    calls: { ...calls, sort_by: order, limit: mostAtOnce },
    reward,
    groupBy,
    least: minimum,
  });
  const isAsked = search === undefined && request !== undefined;
  const preview = useQuery({
    queryKey: ["training-preview", request],
    queryFn: async ({ signal }) => (request === undefined ? null : await previewTraining(session, request, signal)),
    enabled: isAsked,
    gcTime: 0,
    staleTime: Infinity,
  });
  const { data } = preview;
  const canStart = readOnly === undefined && (data?.num_calls ?? 0) > 0 && data?.error_message === null;
  const start = async () => {
    if (request === undefined) return;
    setState({ isSending: true });
    try {
      const { job } = await startTraining(session, request, `${requestId} ${kind}`);
      setState({ job });
      onDone();
    } catch (error) {
      setState({ error });
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canStart) void start();
  };
  const failed = models.error ?? rewards.error;
  return (
    <form className="action-form" onSubmit={submit}>
      <h2>Train a model on calls</h2>
      {failed !== null && (
        <Failure
          what="Models and rewards cannot be read."
          error={failed}
          onRetry={() => Promise.all([models.refetch(), rewards.refetch()])}
        />
      )}
      {search !== undefined && (
        <p className="is-error">
          A search for words does not choose calls for training. Choose the calls one by one, or put a condition on a
          field.
        </p>
      )}
      {models.data?.length === 0 && (
        <p className="prose">
          The project has no models. <Link {...linkToScreen(projectId, "training")}>Training</Link> lists what one can
          begin with.
        </p>
      )}
      {models.data !== undefined && models.data.length > 0 && (
        <>
          <label>
            Model{" "}
            <select value={model} onChange={({ target }) => setModelId(target.value)}>
              {models.data.map(({ id, name, base_model }) => (
                <option key={id} value={id}>
                  {visibleLine(name)} on {visibleLine(base_model)}
                </option>
              ))}
            </select>
          </label>
          <label>
            Train on{" "}
            <select
              value={kind}
              onChange={({ target }) => {
                setKind(target.value as TrainKind);
                setSource(target.value === "sft" ? -1 : Math.max(0, source));
              }}
            >
              {Object.entries(trainKinds).map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <label>
            Reward{" "}
            <select value={source} onChange={({ target }) => setSource(Number(target.value))}>
              {kind === "sft" && <option value={-1}>none: every call is an example</option>}
              {rewards.data?.map(({ feedback_type, path }, index) => (
                <option key={`${feedback_type} ${path}`} value={index}>
                  {visibleLine(feedback_type)} · {visibleLine(path)}
                </option>
              ))}
            </select>
          </label>
          {rewards.data?.length === 0 && (
            <p className="quiet">
              No feedback of the project has a number yet: scores of scorers and annotations are rewards.
            </p>
          )}
          {kind === "rl" ? (
            <label>
              Calls that are compared have the same{" "}
              <input className="mono" value={groupBy} onChange={({ target }) => setGroupBy(target.value.trim())} />
            </label>
          ) : (
            reward !== undefined && (
              <label>
                {leastTitles[kind]}{" "}
                <input inputMode="decimal" value={least} onChange={({ target }) => setLeast(target.value)} />
              </label>
            )
          )}
          {Number.isNaN(minimum) && <p className="is-error">This is no number.</p>}
        </>
      )}
      {preview.isFetching && <Waiting what="Looking at the calls" />}
      {preview.error !== null && (
        <Failure what="There is no preview." error={preview.error} onRetry={() => preview.refetch()} />
      )}
      {isAsked && data !== undefined && data !== null && <TrainPreview projectId={projectId} preview={data} />}
      {state.error !== undefined && <Failure what="No job was started." error={state.error} />}
      {readOnly !== undefined && <p className="is-error">{readOnly}</p>}
      {state.job !== undefined && (
        <p role="status" className="prose">
          The job was started.{" "}
          <Link
            to="/$entity/$project/training/$modelId"
            params={{ ...linkToProject(projectId).params, modelId: state.job.model_id }}
            search={{ job: state.job.id }}
          >
            Watch it
          </Link>
        </p>
      )}
      <div>
        {state.job === undefined && (
          <button className="primary" disabled={!canStart || state.isSending === true}>
            Train on {counted(data?.num_calls ?? 0, "call")}
          </button>
        )}{" "}
        <button type="button" onClick={onClose}>
          {state.job === undefined ? "Cancel" : "Close"}
        </button>
      </div>
    </form>
  );
}
