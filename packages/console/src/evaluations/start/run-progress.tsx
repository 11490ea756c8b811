import { evaluationRunDelete, evaluationStatus } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { linkToProject } from "../../project/project-link.js";
import { useSession } from "../../session/session-context.js";
import { Failure } from "../../ui/failure.js";
import { formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";

interface Props {
  projectId: string;
  runId: string;
  onChanged: () => void;
  onResults: () => void;
  onClose: () => void;
}

const progressMs = 1000;

/** How far a run is, until it has ended; it can be cancelled before. */
export function RunProgress({ projectId, runId, onChanged, onResults, onClose }: Props) {
  const session = useSession();
  const [cancelling, setCancelling] = useState<{ isSending?: true; error?: unknown; isDone?: true }>({});
  const { data, error, refetch } = useQuery({
    queryKey: ["started-run", projectId, runId],
    queryFn: async ({ signal }) =>
      (await evaluationStatus(session.connection, { project_id: projectId, call_id: runId }, { signal })).status,
    refetchInterval: ({ state }) =>
      state.data?.code === "complete" || state.data?.code === "failed" ? false : progressMs,
    enabled: cancelling.isDone !== true,
  });
  const code = data?.code;
  const hasEnded = code === "complete" || code === "failed";
  useEffect(() => {
    if (hasEnded) onChanged();
    // oxlint-disable-next-line react/exhaustive-deps -- once
  }, [hasEnded]);
  const cancel = async () => {
    setCancelling({ isSending: true });
    const request = { ...linkToProject(projectId).params, evaluation_run_ids: [runId] };
    try {
      await evaluationRunDelete(session.connection, request);
      setCancelling({ isDone: true });
      onChanged();
    } catch (reason) {
      setCancelling({ error: reason });
    }
  };
  return (
    <>
      {data?.code === "running" && cancelling.isDone !== true && (
        <>
          <progress value={data.completed_rows} max={Math.max(1, data.total_rows)} aria-label="Predictions" />
          <p role="status">
            <span className="is-running">●</span> {formatCount(data.completed_rows)} of {formatCount(data.total_rows)}{" "}
            predictions are scored. The run goes on when this is closed.
          </p>
        </>
      )}
      {(data === undefined || code === "not_found") && error === null && cancelling.isDone !== true && (
        <p role="status">
          <span className="is-running">●</span> The run is waiting to begin.
        </p>
      )}
      {code === "complete" && <p role="status">✓ The run has ended.</p>}
      {data?.code === "failed" && (
        <p role="alert" className="is-error given">
          ✗ The run failed: {visibleLine(data.error ?? "no reason is known")}
        </p>
      )}
      {cancelling.isDone === true && <p role="status">The run was cancelled, and what it had made is deleted.</p>}
      {error !== null && <Failure what="It is unknown how far the run is." error={error} onRetry={() => refetch()} />}
      {cancelling.error !== undefined && <Failure what="The run was not cancelled." error={cancelling.error} />}
      <div>
        {code === "complete" && (
          <button className="primary" onClick={onResults} autoFocus>
            Show the results
          </button>
        )}
        {!hasEnded && cancelling.isDone !== true && (
          <button disabled={cancelling.isSending === true} onClick={() => void cancel()}>
            Cancel the run
          </button>
        )}{" "}
        <button onClick={onClose}>Close</button>
      </div>
    </>
  );
}
