import { memo, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { CSSProperties, ReactNode } from "react";
import { ResizeHandle } from "./resize-handle.js";
import { useColumnWindow } from "./use-column-window.js";
import { scrollToRow, useRowWindow, useStableScroll } from "./use-row-window.js";
import "./virtual-grid.css";

export interface Column<Row> {
  id: string;
  title: ReactNode;
  /** In pixels. */
  width: number;
  /** What it is at least where the window has not room for all of it. */
  least?: number;
  /** Takes a share of what is left of the window. */
  grows?: true;
  /** Stays at the left where it would be scrolled out of the window. */
  isPinned?: boolean;
  /** False where it is always as wide. */
  resizes?: false;
  align?: "end";
  cell: (row: Row) => ReactNode;
}

interface Props<Row> {
  label: string;
  columns: readonly Column<Row>[];
  count: number;
  row: (index: number) => Row | undefined;
  /** Which rows are asked for, whenever that changes. */
  onWant?: (first: number, end: number) => void;
  /** The row under the cursor; -1 without one. */
  current: number;
  onCurrent: (index: number) => void;
  onOpen: (index: number) => void;
  /** Rows that came in front of the first one since the beginning. */
  prepended?: number;
  /** Another one is another list: it begins at its beginning, or where `atEnd` says so, at its end. */
  generation?: number;
  atEnd?: boolean;
  /** How many rows there are in all, where that is known. */
  total?: number | undefined;
  /** Without a word, while others are read. */
  isOld?: boolean;
  /** The row at the top, whenever the list was scrolled. */
  onTop?: (row: number) => void;
  /** Columns can be given a width; undefined is their own. */
  onResize?: (column: string, width: number | undefined) => void;
}

/** A column as wide as somebody wants it, in any window. */
export function withWidth<Row>(column: Column<Row>, width: number | undefined): Column<Row> {
  if (width === undefined) return column;
  const { grows: _grows, ...others } = column;
  return { ...others, width, least: width };
}

const height = 28;

/** Rows of one height, of which those in the window are rendered, and of these the columns there. It is one stop for Tab; the cursor moves inside of it. */
export function VirtualGrid<Row>({
  label,
  columns: given,
  count,
  row,
  onWant,
  current,
  onCurrent,
  onOpen,
  prepended = 0,
  generation = 0,
  atEnd = false,
  total,
  isOld = false,
  onTop,
  onResize,
}: Props<Row>) {
  const [dragged, setDragged] = useState<{ id: string; width: number }>();
  const columns = useMemo(
    () => given.map((column) => withWidth(column, column.id === dragged?.id ? dragged.width : undefined)),
    [given, dragged],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const { first, end } = useRowWindow(scroller, count, height);
  const { from, to } = useColumnWindow(scroller, columns);
  useStableScroll(scroller, prepended, height);
  useEffect(() => onWant?.(first, end), [onWant, first, end, count, generation]);
  const renderedGeneration = useRef(generation);
  useLayoutEffect(() => {
    if (renderedGeneration.current === generation || scroller.current === null) return;
    renderedGeneration.current = generation;
    scroller.current.scrollTop = atEnd ? scroller.current.scrollHeight : 0;
  }, [generation, atEnd]);
  const at = useRef(current);
  useLayoutEffect(() => {
    at.current = current;
  });
  // Another row is scrolled to; the same one that others came before stays where it is, be it in the window or not.
  const place = current < 0 ? undefined : current - prepended;
  useLayoutEffect(() => scrollToRow(scroller.current, at.current, height, height), [place]);
  const template = useMemo(() => templateOf(columns), [columns]);
  const lefts = useMemo(() => leftsOf(columns), [columns]);
  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
  // The row that has the focus must exist, also where it was scrolled away.
  if (current >= 0 && current < count && (current < first || current >= end)) indexes.push(current);
  const handlers = useRef({ onCurrent, onOpen });
  useEffect(() => {
    handlers.current = { onCurrent, onOpen };
  });
  const onClick = useCallback((index: number) => handlers.current.onCurrent(index), []);
  const onDoubleClick = useCallback((index: number) => handlers.current.onOpen(index), []);
  return (
    <div
      ref={scroller}
      role="grid"
      tabIndex={0}
      className={isOld ? "grid is-old" : "grid"}
      aria-label={label}
      aria-rowcount={total === undefined ? -1 : total + 1}
      aria-colcount={columns.length}
      aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
      aria-busy={isOld}
      onScroll={({ currentTarget }) => onTop?.(Math.floor(currentTarget.scrollTop / height))}
    >
      <div role="row" className="grid-row grid-head" aria-rowindex={1} style={template}>
        {columns.map((column, at) => (
          <div key={column.id} role="columnheader" className={classOf(column)} style={lefts[at]}>
            {column.title}
            {onResize !== undefined && column.resizes !== false && (
              <ResizeHandle
                onDrag={(width) => setDragged(width === undefined ? undefined : { id: column.id, width })}
                onResize={(width) => onResize(column.id, width)}
              />
            )}
          </div>
        ))}
      </div>
      <div role="rowgroup" className="grid-body" style={{ height: count * height }}>
        {indexes.map((index) => {
          return (
            <GridRow
              key={index - prepended}
              id={`${id}-${index}`}
              index={index}
              row={row(index)}
              isCurrent={index === current}
              columns={columns}
              from={from}
              to={to}
              template={template}
              lefts={lefts}
              onCurrent={onClick}
              onOpen={onDoubleClick}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps<Row> {
  id: string;
  index: number;
  row: Row | undefined;
  isCurrent: boolean;
  columns: readonly Column<Row>[];
  /** The columns whose cells are rendered; of the row under the cursor all are, for who does not see it. */
  from: number;
  to: number;
  template: CSSProperties;
  lefts: readonly (CSSProperties | undefined)[];
  onCurrent: (index: number) => void;
  onOpen: (index: number) => void;
}

/** Is rendered again when something of it changes: the cursor moves over two rows, not over all in the window. */
const GridRow = memo(function GridRow<Row>({
  id,
  index,
  row,
  isCurrent,
  columns,
  from,
  to,
  template,
  lefts,
  onCurrent,
  onOpen,
}: RowProps<Row>) {
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isCurrent}
      className={isCurrent ? "grid-row is-current" : "grid-row"}
      style={{ ...template, transform: `translateY(${index * height}px)` }}
      onClick={() => onCurrent(index)}
      onDoubleClick={() => onOpen(index)}
    >
      {columns.map((column, at) => (
        <div key={column.id} role="gridcell" className={classOf(column)} style={lefts[at]}>
          {row !== undefined && (isCurrent || column.isPinned || (at >= from && at < to)) && column.cell(row)}
        </div>
      ))}
    </div>
  );
}) as <Row>(props: RowProps<Row>) => ReactNode;

type Place = Pick<Column<never>, "width" | "least" | "grows" | "isPinned" | "align">;

const classOf = ({ align, isPinned }: Place): string =>
  `cell${align === "end" ? " figure" : ""}${isPinned ? " is-pinned" : ""}`;

/** What a column has in any window. Others stay beside a pinned one, so that is always as wide. */
const leastOf = ({ width, least = width, isPinned }: Place): number => (isPinned ? width : least);

/** Each row lays out its own columns, so their widths do not depend on what is in them. */
const templateOf = (columns: readonly Place[]): CSSProperties => ({
  gridTemplateColumns: columns
    .map((column) => {
      const [least, { width, grows, isPinned }] = [leastOf(column), column];
      if (isPinned) return `${width}px`;
      return grows ? `minmax(${least}px, 1fr)` : least < width ? `minmax(${least}px, ${width}px)` : `${width}px`;
    })
    .join(" "),
  minWidth: columns.reduce((sum, column) => sum + leastOf(column), 2),
});

/** Where each pinned column stays: beside those before it. */
function leftsOf(columns: readonly Place[]): (CSSProperties | undefined)[] {
  let left = 0;
  return columns.map(({ width, isPinned }) => {
    if (!isPinned) return undefined;
    left += width;
    return { left: left - width };
  });
}
