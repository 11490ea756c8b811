import type { CallRow, CallsPageRes } from "@heddle/client/tracing";
import type { ReactNode } from "react";
import type { Action } from "../calls/actions/chosen.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { Status } from "../call-parts/status.js";
import { formatCount, formatDuration, formatMoment } from "../ui/format.js";
import { useNow } from "../ui/use-now.js";
import { visibleLine } from "../ui/visible-text.js";
import { nameOfCall, statusOf } from "./call-facts.js";
import type { CallFacts } from "./call-facts.js";

interface Props {
  call: CallFacts | Omit<CallRow, "values" | "feedback">;
  /** Its place in the table it was opened from. */
  place: number | undefined;
  total: CallsPageRes["total"];
  /** Leads to the table. */
  back: ReactNode;
  onAct: (action: Action) => void;
  /** Absent until the call was read. */
  onCompare: (() => void) | undefined;
  /** Absent where the reader may not. */
  onShare: (() => void) | undefined;
}

const actions = [
  ["dataset", "Dataset", "d"],
  ["queue", "Queue", "q"],
  ["delete", "Delete", "Delete"],
] as const;

/** What the call was, and how it went. */
export function CallHead({ call, place, total, back, onAct, onCompare, onShare }: Props) {
  const now = useNow();
  const readOnly = useReadOnlyReason();
  const status = statusOf(call);
  const [start, end] = [
    Date.parse(call.started_at),
    call.ended_at === undefined ? undefined : Date.parse(call.ended_at),
  ];
  return (
    <header className="call-head">
      {back}
      <h1 className="given cut" title={nameOfCall(call)}>
        {visibleLine(nameOfCall(call))}
      </h1>
      <Status status={status} />
      <span title={`${call.started_at} to ${call.ended_at ?? "now"}`}>
        {end === undefined
          ? `+${formatDuration(Math.max(0, Math.floor((now - start) / 1000) * 1000))}`
          : formatDuration(end - start)}
      </span>
      <time className="quiet" dateTime={call.started_at} title={call.started_at}>
        {formatMoment(start, now)}
      </time>
      <span className="call-actions">
        {actions.map(([action, title, key]) => (
          <button
            key={action}
            className="plain"
            disabled={readOnly !== undefined}
            title={readOnly}
            onClick={() => onAct(action)}
          >
            {title} <kbd>{key}</kbd>
          </button>
        ))}
      </span>
      {onCompare !== undefined && (
        <button className="plain call-share" onClick={onCompare}>
          Compare <kbd>=</kbd>
        </button>
      )}
      {onShare !== undefined && (
        <button className="plain call-share" onClick={onShare}>
          Share <kbd>S</kbd>
        </button>
      )}
      {place !== undefined && (
        <span className="quiet call-place">
          <kbd>[</kbd> {formatCount(place + 1)}
          {total !== undefined && ` of ${total.exact ? "" : "≈ "}${formatCount(total.value)}`} <kbd>]</kbd>
        </span>
      )}
    </header>
  );
}
