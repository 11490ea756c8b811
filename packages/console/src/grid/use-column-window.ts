import { useCallback, useEffect, useLayoutEffect, useState } from "react";
import type { RefObject } from "react";

/** Pixels beside the window of which cells are rendered, too. */
const overscan = 400;

/** First column whose cells are rendered, and the one after the last. */
interface ColumnWindow {
  from: number;
  to: number;
}

/** Which columns are to be rendered, by where those of the head are: each row has its cells in the same places. */
export function useColumnWindow(scroller: RefObject<HTMLElement | null>, columns: readonly unknown[]): ColumnWindow {
  const [window, setWindow] = useState<ColumnWindow>({ from: 0, to: Infinity });
  const look = useCallback(() => {
    const element = scroller.current;
    const head = element?.querySelector(".grid-head");
    if (element === null || head === null || head === undefined) return;
    const [left, right] = [element.scrollLeft - overscan, element.scrollLeft + element.clientWidth + overscan];
    const cells = [...head.children] as HTMLElement[];
    const isIn = ({ offsetLeft, offsetWidth }: HTMLElement) => offsetLeft < right && offsetLeft + offsetWidth > left;
    const next = { from: cells.findIndex(isIn), to: cells.findLastIndex(isIn) + 1 };
    setWindow((present) => (present.from === next.from && present.to === next.to ? present : next));
  }, [scroller]);
  useLayoutEffect(look, [look, columns]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    element.addEventListener("scroll", look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, [scroller, look]);
  return window;
}
