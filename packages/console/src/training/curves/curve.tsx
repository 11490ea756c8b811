import { useEffect, useMemo, useRef, useState } from "react";
import { useMedia } from "../../ui/use-media.js";
import { visibleLine } from "../../ui/visible-text.js";
import { formatNumber, formatPlace } from "../numbers.js";
import { columnsOf, extentOf, nearest, smoothed } from "./series.js";
import type { Column, Series } from "./series.js";

const [height, margin] = [88, 4];

interface Props {
  series: Series;
  range: readonly [number, number];
  /** What the range is of, and its ends as they are said. */
  axis: string;
  ends: readonly [number, number];
  /** Where the cursor of all curves is. */
  cursor: number | undefined;
  isSmooth: boolean;
  /** Changes where the series has grown in place. */
  version: number;
  onCursor: (x: number) => void;
  onPick: (x: number) => void;
}

/** One curve, with its value at the cursor. Readers of screens have the table. */
export function Curve({
  series,
  range,
  axis,
  ends: [first, last],
  cursor,
  isSmooth,
  version,
  onCursor,
  onPick,
}: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const isDark = useMedia("(prefers-color-scheme: dark)");
  const { xs, ys } = series;
  const index = cursor === undefined ? ys.length - 1 : nearest(xs, cursor);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const columns = useMemo(
    () => (width === 0 ? [] : columnsOf(series, range, width)),
    // oxlint-disable-next-line react/exhaustive-deps -- the series grows in place
    [series, range[0], range[1], width, version],
  );
  const smooth = useMemo(
    () => (isSmooth && width > 0 ? columnsOf({ xs, ys: smoothed(ys) }, range, width) : undefined),
    // oxlint-disable-next-line react/exhaustive-deps -- the series grows in place
    [isSmooth, xs, ys, range[0], range[1], width, version],
  );
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element === null || !context || width === 0) return;
    const scale = devicePixelRatio;
    element.width = width * scale;
    element.height = height * scale;
    context.scale(scale, scale);
    const [least, greatest] = extentOf(columns) ?? [0, 0];
    const yOf = (y: number) =>
      greatest === least ? height / 2 : height - margin - ((y - least) / (greatest - least)) * (height - 2 * margin);
    const style = getComputedStyle(element);
    context.lineWidth = 1.25;
    drawLine(context, columns, yOf, style.getPropertyValue(smooth === undefined ? "--curve" : "--curve-raw"));
    if (smooth !== undefined) drawLine(context, smooth, yOf, style.getPropertyValue("--curve"));
  }, [columns, smooth, width, isDark]);
  const xAt = (clientX: number): number => {
    const box = canvas.current?.getBoundingClientRect();
    return box === undefined ? range[0] : range[0] + ((clientX - box.left) / box.width) * (range[1] - range[0]);
  };
  const value = ys[index];
  const extent = useMemo(() => extentOf(columns), [columns]);
  const left = (((xs[index] ?? range[0]) - range[0]) / (range[1] - range[0] || 1)) * 100;
  return (
    <figure className="curve">
      <figcaption>
        <span className="given cut" title={series.name}>
          {visibleLine(series.name)}
        </span>
        {value !== undefined && <strong title={String(value)}>{formatNumber(value)}</strong>}
      </figcaption>
      <div
        className="curve-plot"
        role="presentation"
        onPointerMove={({ clientX }) => onCursor(xs[nearest(xs, xAt(clientX))] ?? range[0])}
        onClick={({ clientX }) => onPick(xs[nearest(xs, xAt(clientX))] ?? range[0])}
      >
        <canvas ref={canvas} style={{ height }} aria-hidden />
        {extent !== undefined && extent[0] < extent[1] && (
          <>
            <span className="curve-extent">{formatNumber(extent[1])}</span>
            <span className="curve-extent is-least">{formatNumber(extent[0])}</span>
          </>
        )}
        {cursor !== undefined && <span className="curve-cursor" style={{ left: `${left}%` }} />}
      </div>
      <p className="curve-range" aria-hidden>
        {first === last ? (
          <span>{`${axis} ${formatPlace(first)}`}</span>
        ) : (
          <>
            <span>{formatPlace(first)}</span>
            <span>{axis}</span>
            <span>{formatPlace(last)}</span>
          </>
        )}
      </p>
    </figure>
  );
}

/** Each column from its least to its greatest value, joined to the one before. */
function drawLine(
  context: CanvasRenderingContext2D,
  columns: readonly (Column | undefined)[],
  yOf: (y: number) => number,
  colour: string,
): void {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.beginPath();
  const isSparse = columns.filter((column) => column !== undefined).length < mostDots;
  let points = 0;
  for (const [x, column] of columns.entries()) {
    if (column === undefined) continue;
    if (points++ === 0) context.moveTo(x + 0.5, yOf(column.first));
    else context.lineTo(x + 0.5, yOf(column.first));
    context.lineTo(x + 0.5, yOf(column.least));
    context.lineTo(x + 0.5, yOf(column.greatest));
    context.lineTo(x + 0.5, yOf(column.last));
    if (isSparse) dot(context, x + 0.5, yOf(column.last));
  }
  context.stroke();
}

/** Beyond this many points of a curve the line alone says where they are. */
const mostDots = 40;
const dotSize = 5;

function dot(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.fillRect(x - dotSize / 2, y - dotSize / 2, dotSize, dotSize);
}
