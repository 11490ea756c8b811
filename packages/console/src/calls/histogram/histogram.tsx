import { useRef, useState } from "react";
import type { PointerEvent } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { Failure } from "../../ui/failure.js";
import { counted, formatCount, formatMoment } from "../../ui/format.js";
import { writeBetween } from "../calls-search.js";
import type { CallsSearch } from "../calls-search.js";
import { segmentsOf } from "./bars.js";
import type { Bar } from "./bars.js";
import { histogramCommands } from "./histogram-commands.js";
import { useHistogram } from "./use-histogram.js";
import "./histogram.css";

interface Props {
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  isLive: boolean;
  /** The rows come first. */
  isOn: boolean;
  onChange: (change: Partial<CallsSearch>) => void;
}

/** Bars that are marked, both ends included. */
interface Marked {
  anchor: number;
  head: number;
}

/** When the calls of the table began, by status. Marking bars shows the calls of their time. */
export function CallsHistogram({ projectId, search, openedAt, isLive, isOn, onChange }: Props) {
  const { data, error, refetch, isPlaceholderData } = useHistogram({ projectId, search, openedAt }, { isLive, isOn });
  const [marked, setMarked] = useState<Marked>();
  const [isFocused, setFocused] = useState(false);
  const isDragging = useRef(false);
  if (error !== null && data === undefined) {
    return (
      <div className="histogram-note">
        <Failure what="The calls cannot be counted." error={error} onRetry={() => refetch()} />
      </div>
    );
  }
  const bars = data?.bars ?? [];
  const most = bars.reduce((max, { count }) => Math.max(max, count), 0);
  const mark = marked && { first: Math.min(marked.anchor, marked.head), last: Math.max(marked.anchor, marked.head) };
  const from = bars[mark?.first ?? 0];
  const until = bars[mark?.last ?? bars.length - 1];
  const count = mark === undefined ? undefined : bars.slice(mark.first, mark.last + 1);
  const zoom = ({ anchor, head }: Marked) => {
    setMarked(undefined);
    const [first, last] = [bars[Math.min(anchor, head)], bars[Math.max(anchor, head)]];
    if (first === undefined || last === undefined) return;
    // Without another end, the last bar goes on with the time.
    const isOpen = last === bars.at(-1) && search.between === undefined;
    onChange({
      since: undefined,
      between: writeBetween({ from: first.from, ...(!isOpen && { until: last.until }) }),
    });
  };
  const barAt = ({ clientX, currentTarget }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(bars.length - 1, Math.floor(((clientX - left) / width) * bars.length)));
  };
  return (
    <div className={isPlaceholderData ? "histogram is-old" : "histogram"}>
      {isFocused && most > 0 && <HistogramKeys count={bars.length} marked={marked} onMark={setMarked} onZoom={zoom} />}
      <div
        className="histogram-bars"
        role="slider"
        tabIndex={0}
        aria-label="Calls over time"
        aria-disabled={most === 0}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, bars.length - 1)}
        aria-valuenow={marked?.head ?? 0}
        aria-valuetext={from && until && `${rangeWords(from, until)}: ${countWords(count ?? bars)}`}
        onFocus={() => setFocused(true)}
        onBlur={() => {
          setFocused(false);
          setMarked(undefined);
        }}
        onPointerDown={(event) => {
          if (most === 0 || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          isDragging.current = true;
          setMarked({ anchor: barAt(event), head: barAt(event) });
        }}
        onPointerMove={(event) => {
          const head = barAt(event);
          if (most > 0) setMarked({ anchor: isDragging.current ? (marked?.anchor ?? head) : head, head });
        }}
        onPointerUp={() => {
          if (isDragging.current && marked !== undefined) zoom(marked);
          isDragging.current = false;
        }}
        onPointerCancel={() => {
          isDragging.current = false;
        }}
        onPointerLeave={() => {
          if (!isDragging.current) setMarked(undefined);
        }}
      >
        <svg viewBox={`0 0 ${Math.max(1, bars.length)} 100`} preserveAspectRatio="none" aria-hidden>
          {mark !== undefined && (
            <rect className="histogram-marked" x={mark.first} y={0} width={mark.last - mark.first + 1} height={100} />
          )}
          {bars.map((bar, index) =>
            segmentsOf(bar, most).map(({ status, y, height }) => (
              <rect
                key={`${bar.from} ${status}`}
                className={`is-${status.replace("_", "-")}`}
                x={index + 0.1}
                y={y}
                width={0.8}
                height={height}
              />
            )),
          )}
        </svg>
      </div>
      <p className="histogram-words quiet">
        {from !== undefined && until !== undefined && (
          <>
            <span>{rangeWords(from, until)}</span>
            {most === 0 ? (
              <span>no calls</span>
            ) : count === undefined ? (
              <span>
                at most {formatCount(most)} a bar · drag to zoom{isFocused && ", or ← → and Enter"}
              </span>
            ) : (
              <span>{countWords(count)}</span>
            )}
          </>
        )}
        {data?.since !== undefined && <span>≈ only calls since {formatMoment(Date.parse(data.since), openedAt)}</span>}
        {error !== null && <span className="is-error">✗ not up to date: {error.message}</span>}
      </p>
    </div>
  );
}

interface KeysProps {
  count: number;
  marked: Marked | undefined;
  onMark: (marked: Marked) => void;
  onZoom: (marked: Marked) => void;
}

/** The keys, while it has the focus: they come before those of the table. */
function HistogramKeys({ count, marked, onMark, onZoom }: KeysProps) {
  const move = (by: number, extends_: boolean) => {
    // The first key marks the newest bar.
    const head = marked === undefined ? count - 1 : Math.max(0, Math.min(count - 1, marked.head + by));
    onMark({ anchor: extends_ ? (marked?.anchor ?? head) : head, head });
  };
  useCommands({ scope: "Histogram" }, histogramCommands, {
    earlier: () => move(-1, false),
    later: () => move(1, false),
    extendEarlier: () => move(-1, true),
    extendLater: () => move(1, true),
    zoom: marked && (() => onZoom(marked)),
  });
  return undefined;
}

const rangeWords = (first: Bar, last: Bar): string => {
  const now = Date.now();
  const [from, until] = [formatMoment(first.from, now), formatMoment(last.until, now)];
  return `${from} – ${until}`;
};

function countWords(bars: readonly Bar[]): string {
  const sum = (of: (bar: Bar) => number) => bars.reduce((total, bar) => total + of(bar), 0);
  const failed = sum(({ counts }) => counts.error);
  const running = sum(({ counts }) => counts.running);
  return [
    counted(
      sum(({ count }) => count),
      "call",
    ),
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(running > 0 ? [`${formatCount(running)} running`] : []),
  ].join(", ");
}
