import { useCallback, useLayoutEffect, useRef, useState } from "react";
import type { RefObject } from "react";
import { useMovedWindow } from "./use-moved-window.js";

/** Rows next to those in the window that are rendered, so that a scroll shows them at once. */
const overscan = 10;

export interface RowWindow {
  /** First row that is rendered, and the one after the last. */
  first: number;
  end: number;
}

/**
 * Which rows of one height are to be rendered in a scrolling element. All rows are of one height, so their places are products;
 * what measures rows would only be slower.
 */
export function useRowWindow(scroller: RefObject<HTMLElement | null>, count: number, height: number): RowWindow {
  const [{ first, end }, setWindow] = useState<RowWindow>({ first: 0, end: 50 });
  const look = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    const top = Math.floor(element.scrollTop / height);
    const rows = Math.ceil(element.clientHeight / height) + 1;
    const next = { first: Math.max(0, top - overscan), end: top + rows + overscan };
    setWindow((present) => (present.first === next.first && present.end === next.end ? present : next));
  }, [scroller, height]);
  useLayoutEffect(look, [look, count]);
  useMovedWindow(scroller, look);
  return { first: Math.min(first, count), end: Math.min(end, count) };
}

/** Keeps what is on the page where it is while rows come before it. */
export function useStableScroll(scroller: RefObject<HTMLElement | null>, prepended: number, height: number): void {
  const before = useRef(prepended);
  useLayoutEffect(() => {
    const more = prepended - before.current;
    before.current = prepended;
    if (more > 0 && scroller.current !== null) scroller.current.scrollTop += more * height;
  }, [scroller, prepended, height]);
}

/** Scrolls so little that a row can be seen, below a head of one row. */
export function scrollToRow(element: HTMLElement | null, index: number, height: number, head: number): void {
  if (element === null || index < 0) return;
  const top = index * height;
  const bottom = top + height + head - element.clientHeight;
  if (element.scrollTop > top) element.scrollTop = top;
  else if (element.scrollTop < bottom) element.scrollTop = bottom;
}
