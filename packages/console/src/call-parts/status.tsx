import type { CallRow } from "@heddle/client/tracing";
import { formatDuration } from "../ui/format.js";
import { useNow } from "../ui/use-now.js";
import "./status.css";

type TraceStatus = NonNullable<CallRow["status"]>;

const words: Record<TraceStatus, string> = {
  success: "✓ success",
  error: "✗ error",
  running: "● running",
  descendant_error: "✗ below",
};
const titles: Partial<Record<TraceStatus, string>> = { descendant_error: "A call below this one failed" };

/** By mark and word first, by colour second. */
export function Status({ status }: { status: TraceStatus | undefined }) {
  if (status === undefined) return undefined;
  return (
    <span className={`status is-${status.replace("_", "-")}`} title={titles[status]}>
      {words[status]}
    </span>
  );
}

/** How long a call took; of one that runs, how long it has been running. */
export function Latency({ call }: { call: Pick<CallRow, "latency_ms" | "started_at" | "status"> }) {
  if (call.latency_ms !== undefined)
    return <span title={`${call.latency_ms} ms`}>{formatDuration(call.latency_ms)}</span>;
  return call.status === "running" ? <Elapsed since={call.started_at} /> : undefined;
}

function Elapsed({ since }: { since: string }) {
  const now = useNow();
  return (
    <span className="is-running">
      +{formatDuration(Math.max(0, Math.floor((now - Date.parse(since)) / 1000) * 1000))}
    </span>
  );
}
