import { useId, useLayoutEffect, useRef } from "react";
import type { RefObject } from "react";
import { scrollToRow, useRowWindow } from "../grid/use-row-window.js";
import { visibleLine } from "../ui/visible-text.js";
import type { Alignment, Closed } from "./alignment.js";
import { differenceOf, figuresOf, formats } from "./figures.js";
import "../call/trace-tree.css";
import "./comparison.css";

export const rowHeight = 24;
const indent = 14;

interface Props {
  alignment: Alignment;
  rows: readonly number[];
  closed: Closed;
  /** Place of the row under the cursor. */
  current: number;
  onSelect: (at: number) => void;
  onToggle: (row: number) => void;
  scroller: RefObject<HTMLDivElement | null>;
}

/** Both traces as one tree, with the times of each and how they differ. */
export function ComparedTree({ alignment, rows, closed, current, onSelect, onToggle, scroller }: Props) {
  const id = useId();
  const { first, end } = useRowWindow(scroller, rows.length, rowHeight);
  const selected = rows[current];
  const at = useRef(current);
  useLayoutEffect(() => {
    at.current = current;
  });
  useLayoutEffect(() => scrollToRow(scroller.current, at.current, rowHeight, rowHeight), [scroller, selected]);
  const places = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
  if (current >= 0 && current < rows.length && (current < first || current >= end)) places.push(current);
  return (
    <div
      ref={scroller}
      role="treegrid"
      tabIndex={0}
      className="tree compared"
      aria-label="Calls of both traces"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
    >
      <div role="row" aria-rowindex={1} className="tree-row tree-head">
        <div role="columnheader">call</div>
        {["time A", "time B", "Δ time", "Δ tokens", "Δ cost"].map((title) => (
          <div key={title} role="columnheader" className="figure">
            {title}
          </div>
        ))}
      </div>
      <div role="rowgroup" className="tree-body" style={{ height: rows.length * rowHeight }}>
        {places.map((place) => {
          const row = rows[place];
          if (row === undefined) return undefined;
          const isParent = (alignment.end[row] ?? row + 1) > row + 1;
          const isOpen = isParent && !closed.has(alignment.key(row));
          return (
            <div
              key={row}
              id={`${id}-${place}`}
              role="row"
              aria-rowindex={place + 2}
              aria-level={(alignment.depth[row] ?? 0) + 1}
              aria-selected={place === current}
              aria-expanded={isParent ? isOpen : undefined}
              className={`tree-row ${classOf(alignment, row)}${place === current ? " is-current" : ""}`}
              style={{ transform: `translateY(${place * rowHeight}px)` }}
              onClick={() => onSelect(place)}
              onDoubleClick={() => isParent && onToggle(row)}
            >
              <div
                role="gridcell"
                className="tree-name"
                style={{ paddingLeft: Math.min(alignment.depth[row] ?? 0, 40) * indent }}
              >
                <span
                  className="tree-toggle"
                  aria-hidden
                  onClick={(event) => {
                    if (!isParent) return;
                    event.stopPropagation();
                    onToggle(row);
                  }}
                >
                  {isParent ? (isOpen ? "▾" : "▸") : ""}
                </span>
                <RowName alignment={alignment} row={row} isOpen={isOpen || !isParent} />
              </div>
              <Figures alignment={alignment} row={row} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

const sideOf = ({ a, b }: Alignment, row: number): "a" | "b" | "both" =>
  a[row] === -1 ? "b" : b[row] === -1 ? "a" : "both";
const classOf = (alignment: Alignment, row: number): string =>
  ({ a: "is-removed", b: "is-added", both: "" })[sideOf(alignment, row)];
const marks = { a: "−", b: "+", both: "" };
const spoken = { a: "only in A: ", b: "only in B: ", both: "" };
const statusMarks = { error: "✗", descendant_error: "✗", running: "●", success: "✓" };
/** What is said of a row by words. */
const said = ["inputs", "output", "tokens"] as const;

function RowName({ alignment, row, isOpen }: { alignment: Alignment; row: number; isOpen: boolean }) {
  const name = alignment.name(row);
  const side = sideOf(alignment, row);
  const statuses = [
    alignment.before.data.status[alignment.a[row] ?? -1],
    alignment.after.data.status[alignment.b[row] ?? -1],
  ].filter((status) => status !== undefined);
  const isSame = statuses.length === 2 && statuses[0] === statuses[1];
  const visibleStatuses =
    isSame || side !== "both" ? statuses.slice(0, 1).filter((status) => status !== "success") : statuses;
  const others = said.filter((by) => alignment.differsIn(row, by));
  const below = isOpen ? 0 : (alignment.below[row] ?? 0);
  return (
    <>
      <span className="compared-mark" aria-hidden>
        {marks[side]}
      </span>
      <span className="unseen">{spoken[side]}</span>
      <span className="given cut" title={name}>
        {visibleLine(name)}
      </span>
      {visibleStatuses.map((status, place) => (
        // Of A, then of B.
        // oxlint-disable-next-line react/no-array-index-key
        <span key={place} className={`status is-${status.replace("_", "-")}`}>
          {place === 1 && <span className="quiet">→ </span>}
          {statusMarks[status]} <span className="unseen">{status.replace("_", " ")}</span>
        </span>
      ))}
      {others.length > 0 && (
        <span className="compared-differs">
          ≠<span className="compared-what"> {others.join(", ")}</span>
        </span>
      )}
      {below > 0 && <span className="quiet">{below} below</span>}
    </>
  );
}

function Figures({ alignment, row }: { alignment: Alignment; row: number }) {
  const before = figuresOf(alignment.before, alignment.a[row] ?? -1);
  const after = figuresOf(alignment.after, alignment.b[row] ?? -1);
  const cells = [
    before.time === undefined ? "" : formats.time(before.time),
    after.time === undefined ? "" : formats.time(after.time),
    differenceOf("time", before, after),
    differenceOf("tokens", before, after),
    differenceOf("cost", before, after),
  ];
  return cells.map((text, index) => (
    // They are columns.
    // oxlint-disable-next-line react/no-array-index-key
    <div key={index} role="gridcell" className="figure">
      {text}
    </div>
  ));
}
