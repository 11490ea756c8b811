import { Link } from "../router/routing.js";
import { HeddleApiError } from "@heddle/client/tracing";
import { Conversation } from "../call/conversation/conversation.js";
import { messagesOf } from "../call/conversation/messages.js";
import { Failure } from "../ui/failure.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { LongText } from "../ui/long-text.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { messageOf } from "./answer.js";
import { TokenComparison } from "./token-comparison.js";
import type { Run } from "./runs.js";
import type { Recorded } from "./use-playground.js";

interface Props {
  model: string;
  /** Whether the service does not list it. */
  isUnknown: boolean;
  run: Run | undefined;
  /** Where its calls are recorded. */
  callProjectId: string;
  /** The model that it was trained from, and whether that is a column. */
  base: string | undefined;
  hasBase: boolean;
  onBase: (model: string) => void;
  onRemove: () => void;
  /** Asks this model again; undefined while that cannot be. */
  onRetry: (() => void) | undefined;
  onDataset: (() => void) | undefined;
}

/** What one model makes of the request. */
export function ModelColumn({
  model,
  isUnknown,
  run,
  callProjectId,
  base,
  hasBase,
  onBase,
  onRemove,
  onRetry,
  onDataset,
}: Props) {
  return (
    <section className="play-column" aria-label={model} aria-busy={run?.status === "running"}>
      <header>
        <h2 className="given cut" title={model}>
          {visibleLine(model)}
        </h2>
        <button className="plain" aria-label={`Remove ${visibleLine(model)}`} onClick={onRemove}>
          ×
        </button>
      </header>
      {isUnknown && <p className="is-running">The service does not list this model.</p>}
      {base !== undefined && !hasBase && (
        <button className="plain" onClick={() => onBase(base)}>
          Compare with its base {visibleLine(base)}
        </button>
      )}
      {run === undefined ? (
        <p className="quiet">Not run yet.</p>
      ) : (
        <>
          <p className="quiet play-figures" role="status">
            {figuresOf(run)}
          </p>
          {run.answer.choices.map((choice, index) => (
            // Choices do not change their places.
            // oxlint-disable-next-line react/no-array-index-key
            <div key={index} className="play-choice">
              {run.answer.choices.length > 1 && <h3 className="quiet">choice {index + 1}</h3>}
              {choice.reasoning !== "" && (
                <details className="play-details">
                  <summary>reasoning, {formatCount(choice.reasoning.length)} characters</summary>
                  <LongText className="play-text" text={choice.reasoning} />
                </details>
              )}
              {choice.tools.length === 0 || run.status === "running" ? (
                <LongText className="play-text" text={choice.text} />
              ) : (
                <Conversation messages={messagesOf({ inputs: `{"messages":[${messageOf(choice)}]}` })} />
              )}
              {choice.tools.length > 0 && run.status === "running" && (
                <p className="quiet">calls {choice.tools.map(({ name }) => visibleLine(name)).join(", ")}…</p>
              )}
              {base !== undefined && run.status === "done" && run.answer.tokens !== undefined && (
                <TokenComparison
                  key={run.callId}
                  model={model}
                  base={base}
                  draft={run.draft}
                  choice={choice}
                  promptTokens={run.answer.tokens.prompt}
                />
              )}
              {choice.finish !== "" && choice.finish !== "stop" && (
                <p className="quiet">ended by {visibleLine(choice.finish)}</p>
              )}
            </div>
          ))}
          {run.status === "failed" && (
            <>
              <Failure
                what={run.answer.choices.length > 0 ? "It broke off." : "It failed."}
                error={run.error}
                {...(onRetry !== undefined && { onRetry })}
              />
              <ErrorBody error={run.error} />
            </>
          )}
          {run.callId !== undefined && run.status !== "running" && (
            <p className="play-links">
              <Link
                to="/$entity/$project/calls/$callId"
                params={{
                  entity: callProjectId.slice(0, callProjectId.indexOf("/")),
                  project: callProjectId.slice(callProjectId.indexOf("/") + 1),
                  callId: run.callId,
                }}
              >
                trace
              </Link>
              {run.status === "done" && onDataset !== undefined && (
                <button className="plain" onClick={onDataset}>
                  Add to a dataset
                </button>
              )}
            </p>
          )}
        </>
      )}
    </section>
  );
}

function figuresOf({ status, answer, firstMs, ms }: Run): string {
  const words = { running: "● running", done: "✓ done", stopped: "stopped", failed: "✗ failed" };
  return [
    words[status],
    answer.tokens === undefined ? undefined : `${formatCount(answer.tokens.completion)} tokens`,
    ms === undefined ? undefined : formatDuration(ms),
    firstMs === undefined ? undefined : `first after ${formatDuration(firstMs)}`,
  ]
    .filter((word) => word !== undefined)
    .join(" · ");
}

/** What was sent instead, where it says more than its reason. */
function ErrorBody({ error }: { error: unknown }) {
  if (!(error instanceof HeddleApiError) || error.body === undefined) return undefined;
  const text = typeof error.body === "string" ? error.body : JSON.stringify(error.body, undefined, 1);
  return (
    <details className="play-details">
      <summary>the body of the error</summary>
      <pre className="play-text given">{visibleText(text.slice(0, 10_000))}</pre>
    </details>
  );
}

/** What the recorded call had made. */
export function RecordedColumn({
  recorded,
  projectId,
  callId,
}: {
  recorded: Recorded;
  projectId: string;
  callId: string;
}) {
  const slash = projectId.indexOf("/");
  const outputMessages = messagesOf({ inputs: recorded.inputs, output: recorded.output }).filter(
    ({ isOutput }) => isOutput,
  );
  return (
    <section className="play-column is-recorded" aria-label="Recorded">
      <header>
        <h2 className="given cut" title={recorded.model}>
          recorded: {visibleLine(recorded.model)}
        </h2>
      </header>
      <Conversation messages={outputMessages} />
      {recorded.exception !== undefined && <p className="is-error given">✗ {visibleText(recorded.exception)}</p>}
      <p className="play-links">
        <Link
          to="/$entity/$project/calls/$callId"
          params={{ entity: projectId.slice(0, slash), project: projectId.slice(slash + 1), callId }}
        >
          trace
        </Link>
      </p>
    </section>
  );
}
