import { useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { CSSProperties, PointerEvent } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { formatMoment } from "../../ui/format.js";
import type { CallsSearch } from "../calls-search.js";
import { useHistogram } from "../histogram/use-histogram.js";
import { railCommands } from "./rail-commands.js";
import { railScale } from "./rail-scale.js";
import type { RailScale } from "./rail-scale.js";
import type { RowAtTop } from "./row-at-top.js";
import "./time-rail.css";

interface Props {
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  isLive: boolean;
  top: RowAtTop;
  /** Whether the first row is the newest call. */
  isAtNewest: boolean;
  /** When a row began, in milliseconds; undefined where it is not loaded. */
  timeOf: (row: number) => number | undefined;
  /** Shows the calls that began at a time, in milliseconds, and before. */
  onTime: (time: number) => void;
}

/** How far a key moves, as a share of the calls. */
const [step, leap] = [0.01, 0.1];

/** Where the table is in time: the newest call at the top, the oldest at the bottom. Another place of it is another time. */
export function TimeRail({ projectId, search, openedAt, isLive, top, isAtNewest, timeOf, onTime }: Props) {
  const { data } = useHistogram({ projectId, search, openedAt }, { isLive, isOn: true });
  const scale = useMemo(() => railScale(data?.bars ?? []), [data]);
  const row = useSyncExternalStore(top.subscribe, top.row);
  const [marked, setMarked] = useState<number>();
  const [isFocused, setFocused] = useState(false);
  const isDragging = useRef(false);
  if (scale === undefined) return undefined;
  const time = timeOf(row);
  const place = row === 0 && isAtNewest ? 0 : placeOf(scale, time);
  const said = formatMoment(scale.timeAt(marked ?? place), openedAt);
  const placeAt = ({ clientY, currentTarget }: PointerEvent): number => {
    const { top: from, height } = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (clientY - from) / height));
  };
  const go = (to: number) => {
    setMarked(undefined);
    onTime(scale.timeAt(to));
  };
  return (
    <div
      className="time-rail"
      role="slider"
      tabIndex={0}
      aria-label="Time of the calls"
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * (1 - (marked ?? place)))}
      aria-valuetext={said}
      style={{ "--place": place } as CSSProperties}
      onFocus={() => setFocused(true)}
      onBlur={() => {
        setFocused(false);
        setMarked(undefined);
      }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        isDragging.current = true;
        setMarked(placeAt(event));
      }}
      onPointerMove={(event) => setMarked(placeAt(event))}
      onPointerUp={(event) => {
        if (isDragging.current) go(placeAt(event));
        isDragging.current = false;
      }}
      onPointerCancel={() => {
        isDragging.current = false;
      }}
      onPointerLeave={() => {
        if (!isDragging.current) setMarked(undefined);
      }}
    >
      {isFocused && <RailKeys at={marked ?? place} onMark={setMarked} onGo={go} />}
      <span className="time-rail-place" />
      {(marked !== undefined || isFocused) && (
        <span className="time-rail-marked" style={{ "--place": marked ?? place } as CSSProperties}>
          <time>
            {said}
            {isFocused && " ↵"}
          </time>
        </span>
      )}
    </div>
  );
}

const placeOf = (scale: RailScale, time: number | undefined): number => (time === undefined ? 0 : scale.placeOf(time));

interface KeysProps {
  at: number;
  onMark: (place: number) => void;
  onGo: (place: number) => void;
}

/** The keys, while it has the focus: they come before those of the table. */
function RailKeys({ at, onMark, onGo }: KeysProps) {
  const move = (by: number) => () => onMark(Math.max(0, Math.min(1, at + by)));
  useCommands({ scope: "Time rail" }, railCommands, {
    later: move(-step),
    earlier: move(step),
    muchLater: move(-leap),
    muchEarlier: move(leap),
    go: () => onGo(at),
  });
  return undefined;
}
