import { HeddleApiError } from "@heddle/client/tracing";
import { useState } from "react";
import "./failure.css";

interface Props {
  error: unknown;
  what: string;
  /** Begins another try; the promise ends with it. */
  onRetry?: () => unknown;
}

/** Says in the place it concerns what failed, with status and request id, and tries again. */
export function Failure({ error, what, onRetry }: Props) {
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
      {onRetry !== undefined && <RetryButton onRetry={onRetry} />}
    </div>
  );
}

/** Stays where it is while it tries, with the focus: only its text and state say so. */
function RetryButton({ onRetry }: { onRetry: () => unknown }) {
  const [isTrying, setIsTrying] = useState(false);
  const retry = async () => {
    if (isTrying) return;
    setIsTrying(true);
    try {
      await onRetry();
    } finally {
      setIsTrying(false);
    }
  };
  return (
    <button aria-disabled={isTrying} aria-busy={isTrying} onClick={() => void retry()}>
      {isTrying ? "Trying again…" : "Try again"}
    </button>
  );
}

function messageOf(error: unknown): string {
  if (error instanceof HeddleApiError) return error.reason;
  return error instanceof Error ? error.message : String(error);
}
