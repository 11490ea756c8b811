import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "react";
import type { RefObject } from "react";
import { useCommands } from "../commands/use-commands.js";
import { scrollToRow, useRowWindow } from "../grid/use-row-window.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { useNow } from "../ui/use-now.js";
import { visibleLine } from "../ui/visible-text.js";
import { keyOfRow } from "./outline.js";
import type { Outline, OutlineRow } from "./outline.js";
import { panned, readWindow, writeWindow, zoomed } from "./time-window.js";
import type { TimeWindow } from "./time-window.js";
import { timeCommands } from "./trace-commands.js";
import { useRowsInPlace } from "./use-rows-in-place.js";
import { useTimePointer } from "./use-time-pointer.js";
import "./trace-tree.css";

export const treeRowHeight = 24;
const indent = 14;

interface Props {
  outline: Outline;
  rows: readonly OutlineRow[];
  current: number;
  onSelect: (at: number) => void;
  onToggle: (row: OutlineRow, isOpen: boolean) => void;
  scroller: RefObject<HTMLDivElement | null>;
  /** The part of the time that is shown, as `readWindow` reads it; undefined for all of it. */
  zoom: string | undefined;
  onZoom: (zoom: string | undefined) => void;
}

/** The tree of calls, each with the bar of its time on the scale of the trace, or of the part of it that is zoomed into. */
export function TraceTree({ outline, rows, current, onSelect, onToggle, scroller, zoom, onZoom }: Props) {
  const id = useId();
  const { first, end } = useRowWindow(scroller, rows.length, treeRowHeight);
  const isRunning = useMemo(() => outline.data.status.includes("running"), [outline]);
  const scale = useScale(outline, isRunning);
  useRowsInPlace({ scroller, outline, rows, current }, treeRowHeight);
  const selected = rows[current] && keyOfRow(outline, rows[current]);
  const at = useRef(current);
  useEffect(() => {
    at.current = current;
  });
  // Another row is scrolled to; the same one that others came before stays where it is.
  useLayoutEffect(() => scrollToRow(scroller.current, at.current, treeRowHeight, treeRowHeight), [scroller, selected]);
  const part = readWindow(zoom, scale);
  const window = part ?? scale;
  const isZoomed = part !== undefined;
  const show = (next: TimeWindow) => onZoom(writeWindow(next, scale));
  const head = useRef<HTMLDivElement>(null);
  const { dragged, handlers } = useTimePointer({ scroller, head, window, isZoomed, onWindow: show });
  const timesAt = (row: OutlineRow | undefined): TimeWindow | undefined => {
    const times = row && timesOf(outline, row, scale.now);
    return times && { start: times[0], end: times[1] };
  };
  // What begins and ends at the edges would not be seen to.
  const fit = (times: TimeWindow) => show(zoomed(times, 1.1));
  const ofCurrent = timesAt(rows[current]);
  const middle = ofCurrent && ((ofCurrent.start + ofCurrent.end) / 2 - window.start) / (window.end - window.start);
  const around = middle !== undefined && middle >= 0 && middle <= 1 ? middle : 0.5;
  useCommands({ scope: "Times of the trace" }, timeCommands, {
    fit: ofCurrent && (() => fit(ofCurrent)),
    whole: isZoomed ? () => onZoom(undefined) : undefined,
    closer: () => show(zoomed(window, 0.5, around)),
    wider: isZoomed ? () => show(zoomed(window, 2, around)) : undefined,
    earlier: isZoomed ? () => show(panned(window, -0.25)) : undefined,
    later: isZoomed ? () => show(panned(window, 0.25)) : undefined,
  });
  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  if (current >= 0 && current < rows.length && (current < first || current >= end)) indexes.push(current);
  return (
    <div
      ref={scroller}
      role="treegrid"
      tabIndex={0}
      className="tree"
      aria-label="Calls of the trace"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
      {...handlers}
    >
      <div role="row" aria-rowindex={1} className="tree-row tree-head">
        <div role="columnheader">call</div>
        <div role="columnheader" className="figure">
          time
        </div>
        <div ref={head} role="columnheader" className="tree-scale">
          <span>{isZoomed ? `+${formatDuration((window.start - scale.start) / 1000)}` : "0"}</span>
          <span>
            {isZoomed && "+"}
            {formatDuration((window.end - scale.start) / 1000)}
          </span>
          {dragged !== undefined && (
            <span
              className="tree-dragged"
              style={{
                left: `${100 * Math.min(dragged.from, dragged.to)}%`,
                width: `${100 * Math.abs(dragged.to - dragged.from)}%`,
                height: dragged.height,
              }}
            />
          )}
        </div>
      </div>
      <div role="rowgroup" className="tree-body" style={{ height: rows.length * treeRowHeight }}>
        {indexes.map((at) => {
          const row = rows[at];
          if (row === undefined) return undefined;
          const isParent = row.kind !== "call" || row.isParent;
          return (
            <div
              key={keyOfRow(outline, row)}
              id={`${id}-${at}`}
              role="row"
              aria-rowindex={at + 2}
              aria-level={row.depth + 1}
              aria-selected={at === current}
              aria-expanded={isParent ? row.isOpen : undefined}
              className={at === current ? "tree-row is-current" : "tree-row"}
              style={{ transform: `translateY(${at * treeRowHeight}px)` }}
              onClick={() => onSelect(at)}
              onDoubleClick={() => isParent && onToggle(row, !row.isOpen)}
            >
              <div role="gridcell" className="tree-name" style={{ paddingLeft: Math.min(row.depth, 40) * indent }}>
                <span
                  className="tree-toggle"
                  aria-hidden
                  onClick={(event) => {
                    if (!isParent) return;
                    event.stopPropagation();
                    onToggle(row, !row.isOpen);
                  }}
                >
                  {isParent ? (row.isOpen ? "▾" : "▸") : ""}
                </span>
                <RowName outline={outline} row={row} />
              </div>
              <div role="gridcell" className="figure">
                <RowTime outline={outline} row={row} now={scale.now} />
              </div>
              <div
                role="gridcell"
                className="tree-bar"
                onDoubleClick={(event) => {
                  const times = timesAt(row);
                  if (times === undefined) return;
                  event.stopPropagation();
                  fit(times);
                }}
              >
                <Bar outline={outline} row={row} now={scale.now} window={window} />
              </div>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function RowName({ outline, row }: { outline: Outline; row: OutlineRow }) {
  if (row.kind === "missing") {
    return (
      <span className="quiet">
        parent <span className="mono given">{visibleLine(row.id)}</span> has not arrived
      </span>
    );
  }
  if (row.kind === "more") {
    return (
      <span className="quiet">{row.id === "" ? "further calls at the top" : "further calls"}: open to read them</span>
    );
  }
  const name = outline.name(row.index);
  const status = row.kind === "call" ? outline.data.status[row.index] : undefined;
  const marks = { error: "✗", descendant_error: "✗", running: "●", success: undefined };
  const mark = status === undefined ? undefined : marks[status];
  return (
    <>
      <span className={status === "error" ? "given cut is-error" : "given cut"} title={name}>
        {visibleLine(name)}
      </span>
      {row.kind === "fold" && <span className="quiet">×{formatCount(row.count)}</span>}
      {mark !== undefined && (
        <span className={`status is-${status?.replace("_", "-")}`}>
          {mark} <span className="unseen">{status?.replace("_", " ")}</span>
        </span>
      )}
    </>
  );
}

interface Scale {
  /** In microseconds, as the times of the trace. */
  start: number;
  end: number;
  /** The end of what runs. */
  now: number;
}

/** From the first start to the last end, or while something runs, to now. */
function useScale(outline: Outline, isRunning: boolean): Scale {
  const clock = useNow() * 1000;
  const [start, last] = useMemo(() => {
    let [from, to] = [Infinity, -Infinity];
    const { start_us, end_us } = outline.data;
    for (let index = 0; index < outline.length; index++) {
      from = Math.min(from, start_us[index] ?? from);
      to = Math.max(to, end_us[index] ?? start_us[index] ?? to);
    }
    return [from, to];
  }, [outline]);
  const now = Math.max(clock, last);
  return { start, end: isRunning ? now : last, now };
}

/** Start and end of a row; of a fold from the first start to the last end of what it holds. */
function timesOf(outline: Outline, row: OutlineRow, now: number): [start: number, end: number] | undefined {
  if (row.kind === "missing" || row.kind === "more") return undefined;
  const { from, to, isRunning } = row.kind === "fold" ? outline.timesOfRun(row.index) : outline.timesOfCall(row.index);
  return [from, isRunning ? Math.max(to, now) : to];
}

function RowTime({ outline, row, now }: { outline: Outline; row: OutlineRow; now: number }) {
  const times = timesOf(outline, row, now);
  if (times === undefined) return undefined;
  const isRunning = row.kind === "call" && outline.data.end_us[row.index] === null;
  const time = formatDuration((times[1] - times[0]) / 1000);
  return isRunning ? (
    <span className="is-running">+{formatDuration(Math.floor((times[1] - times[0]) / 1e6) * 1000)}</span>
  ) : (
    <>{time}</>
  );
}

interface BarProps {
  outline: Outline;
  row: OutlineRow;
  /** The end of what runs. */
  now: number;
  window: TimeWindow;
}

function Bar({ outline, row, now, window }: BarProps) {
  const times = timesOf(outline, row, now);
  if (times === undefined) return undefined;
  const width = Math.max(1, window.end - window.start);
  const placeOf = (time: number) => (time - window.start) / width;
  if (placeOf(times[1]) < 0) return <span className="bar-beyond is-before">‹</span>;
  if (placeOf(times[0]) > 1) return <span className="bar-beyond is-after">›</span>;
  const [left, right] = [Math.max(0, placeOf(times[0])), Math.min(1, placeOf(times[1]))];
  const status = outline.data.status[row.index];
  const kind = outline.data.kind[row.index] ?? "other";
  return (
    <span
      className={`bar is-kind-${kind}${status === "error" ? " is-failed" : ""}${status === "running" ? " is-open" : ""}`}
      title={kind}
      style={{ left: `${left * 100}%`, width: `${Math.max(0, right - left) * 100}%` }}
    />
  );
}
