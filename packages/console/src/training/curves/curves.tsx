import type { Checkpoint, TrainingJob } from "@heddle/client/training";
import { useCallback, useMemo, useState } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { VirtualGrid } from "../../grid/virtual-grid.js";
import type { Column } from "../../grid/virtual-grid.js";
import { Failure } from "../../ui/failure.js";
import { counted, formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { formatNumber, formatPlace } from "../numbers.js";
import { curvesCommands } from "../training-commands.js";
import { isActive } from "../training-search.js";
import { Curve } from "./curve.js";
import { axes, axisTitles, nearest, seriesOfCheckpoints, seriesOfHistory, rangeOf } from "./series.js";
import type { Axis, Series } from "./series.js";
import { useHistory } from "./use-history.js";
import { useJobSeries } from "./use-job-series.js";
import "./curves.css";

interface Props {
  job: TrainingJob;
  checkpoints: readonly Checkpoint[];
  axis: Axis;
  onAxis: (axis: Axis) => void;
  /** The checkpoint of a step was picked. */
  onStep: (step: number) => void;
}

/** What was measured, as curves under one cursor, or as a table. */
export function Curves({ job, checkpoints, axis, onAxis, onStep }: Props) {
  const events = useJobSeries(job.id);
  const history = useHistory(job.model_id, axis === "logged", isActive(job));
  const [at, setAt] = useState<{ axis: Axis; x: number }>();
  const [isSmooth, setSmooth] = useState(false);
  const [isTable, setTable] = useState(false);
  const all = useMemo(
    () =>
      axis === "step"
        ? seriesOfCheckpoints(checkpoints)
        : axis === "logged"
          ? seriesOfHistory(history.data ?? { series: [] })
          : events.series.over(axis),
    // oxlint-disable-next-line react/exhaustive-deps -- the series grows in place
    [axis, checkpoints, history.data, events.series, events.version],
  );
  const xs = useMemo(() => xsOf(all), [all]);
  const cursor = at?.axis === axis ? at.x : undefined;
  const setCursor = (x: number) => setAt({ axis, x });
  const index = cursor === undefined ? xs.length - 1 : nearest(xs, cursor);
  const move = (by: number) => {
    const x = xs[Math.max(0, Math.min(xs.length - 1, index + by))];
    if (x !== undefined) setCursor(x);
  };
  const range = rangeOf(xs);
  const any = xs.length > 0;
  useCommands({ scope: "Curves" }, curvesCommands, {
    next: any ? () => move(1) : undefined,
    previous: any ? () => move(-1) : undefined,
    pick: any && axis === "step" ? () => onStep(xs[index] ?? 0) : undefined,
    axis: () => onAxis(axes[(axes.indexOf(axis) + 1) % axes.length] ?? "step"),
    smooth: () => setSmooth(!isSmooth),
    table: () => setTable(!isTable),
  });
  return (
    <section className="training-part" aria-label="Curves">
      <div className="curves-bar">
        <label>
          over{" "}
          <select value={axis} onChange={({ target }) => onAxis(axes.find((each) => each === target.value) ?? "step")}>
            {axes.map((each) => (
              <option key={each} value={each}>
                {axisTitles[each]}
              </option>
            ))}
          </select>
        </label>
        <button aria-pressed={isSmooth} onClick={() => setSmooth(!isSmooth)}>
          Smooth <kbd>m</kbd>
        </button>
        <button aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Table <kbd>T</kbd>
        </button>
        <span className="quiet" role="status">
          {any && `${axisTitles[axis]} ${formatPlace(xs[index] ?? 0)}, ${counted(xs.length, "point")}`}
        </span>
        <span className="quiet">
          <kbd>←</kbd> <kbd>→</kbd> move the cursor
        </span>
      </div>
      {axis === "logged" && history.error !== null && (
        <Failure what="What clients logged cannot be read." error={history.error} onRetry={() => history.refetch()} />
      )}
      {axis === "logged" && history.data?.series.some(({ sampled }) => sampled) === true && (
        <p className="quiet">Of long series the least and the greatest number of each part.</p>
      )}
      {events.error !== undefined && axis !== "step" && axis !== "logged" && (
        <Failure what="The events of the job cannot be followed; they are asked for again." error={events.error} />
      )}
      {!any && (
        <p className="quiet">
          {axis === "logged"
            ? "No client has logged numbers to the run of this model, which has its name."
            : "Nothing was measured over this axis yet."}
        </p>
      )}
      {any && !isTable && (
        <div className="curves">
          {all.slice(0, mostCurves).map((series) => (
            <Curve
              key={series.name}
              series={series}
              range={range}
              axis={axisTitles[axis]}
              ends={[xs[0] ?? 0, xs.at(-1) ?? 0]}
              cursor={xs[index]}
              isSmooth={isSmooth}
              version={events.version}
              onCursor={setCursor}
              onPick={(x) => axis === "step" && onStep(x)}
            />
          ))}
        </div>
      )}
      {any && !isTable && all.length > mostCurves && (
        <p className="quiet">
          {formatCount(mostCurves)} of {counted(all.length, "curve")}; the table has all.
        </p>
      )}
      {any && isTable && (
        <PointsTable
          all={all}
          xs={xs}
          title={axisTitles[axis]}
          current={index}
          onCurrent={(row) => setCursor(xs[row] ?? 0)}
        />
      )}
    </section>
  );
}

const mostCurves = 60;

/** Every x that a series has a point at, rising. */
function xsOf(all: readonly Series[]): number[] {
  const xs = new Set<number>();
  for (const series of all) for (const x of series.xs) xs.add(x);
  return [...xs].toSorted((a, b) => a - b);
}

interface TableProps {
  all: readonly Series[];
  xs: readonly number[];
  title: string;
  current: number;
  onCurrent: (row: number) => void;
}

function PointsTable({ all, xs, title, current, onCurrent }: TableProps) {
  const columns = useMemo((): Column<number>[] => {
    return [{ id: "x", title, width: 200, cell: (x) => String(x) }, ...all.map(columnOf)];
  }, [all, title]);
  const row = useCallback((index: number) => xs[index], [xs]);
  return (
    <div className="curves-table">
      <VirtualGrid
        label="Measured numbers"
        columns={columns}
        count={xs.length}
        row={row}
        current={current}
        onCurrent={onCurrent}
        onOpen={onCurrent}
        total={xs.length}
      />
    </div>
  );
}

function columnOf(series: Series): Column<number> {
  return {
    id: `of ${series.name}`,
    title: <span title={series.name}>{visibleLine(series.name)}</span>,
    width: 128,
    align: "end",
    cell: (x) => <ValueAt series={series} x={x} />,
  };
}

function ValueAt({ series: { xs, ys }, x }: { series: Series; x: number }) {
  const index = nearest(xs, x);
  const value = xs[index] === x ? ys[index] : undefined;
  return value === undefined ? undefined : <span title={String(value)}>{formatNumber(value)}</span>;
}
