import { HeddleApiError } from "@heddle/client/tracing";
import "./failure.css";

/** Says in the place it concerns what failed, with status and request id, and tries again. */
export function Failure({ error, what, onRetry }: { error: unknown; what: string; onRetry?: () => void }) {
  const api = error instanceof HeddleApiError ? error : undefined;
  const offline = api?.status === 0;
  return (
    <div className="failure" role="alert">
      <p>
        <strong className="is-error">✗ {what}</strong>{" "}
        <span className="given">{offline ? "The service does not respond." : messageOf(error)}</span>
      </p>
      <p className="quiet">
        {api !== undefined && api.status > 0 && <span>status {api.status}</span>}
        {api?.retryAfter !== undefined && <span>the service asks to wait {Math.ceil(api.retryAfter)} s</span>}
        {api?.requestId !== undefined && (
          <span>
            request id <span className="mono">{api.requestId}</span>
          </span>
        )}
      </p>
      {onRetry !== undefined && <button onClick={onRetry}>Try again</button>}
    </div>
  );
}

function messageOf(error: unknown): string {
  if (error instanceof HeddleApiError) return error.reason;
  return error instanceof Error ? error.message : String(error);
}
