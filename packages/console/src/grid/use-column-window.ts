import { useCallback, useLayoutEffect, useState } from "react";
import type { RefObject } from "react";
import { useMovedWindow } from "./use-moved-window.js";

/** Pixels beside the window of which cells are rendered, too. */
const overscan = 400;

/** First column whose cells are rendered, and the one after the last. */
interface ColumnWindow {
  from: number;
  to: number;
}

/** Which columns are to be rendered, by where those of the head are: each row has its cells in the same places. Pinned ones always are. */
export function useColumnWindow(scroller: RefObject<HTMLElement | null>, columns: readonly unknown[]): ColumnWindow {
  const [window, setWindow] = useState<ColumnWindow>({ from: 0, to: Infinity });
  const look = useCallback(() => {
    const element = scroller.current;
    const head = element?.querySelector(".grid-head");
    if (element === null || head === null || head === undefined) return;
    const [left, right] = [element.scrollLeft - overscan, element.scrollLeft + element.clientWidth + overscan];
    const cells = [...head.children] as HTMLElement[];
    const isIn = ({ offsetLeft, offsetWidth, classList }: HTMLElement) =>
      !classList.contains("is-pinned") && offsetLeft < right && offsetLeft + offsetWidth > left;
    const next = { from: cells.findIndex(isIn), to: cells.findLastIndex(isIn) + 1 };
    setWindow((present) => (present.from === next.from && present.to === next.to ? present : next));
  }, [scroller]);
  useLayoutEffect(look, [look, columns]);
  useMovedWindow(scroller, look);
  return window;
}
