import { useLayoutEffect, useRef } from "react";
import type { RefObject } from "react";
import { keyOfRow } from "./outline.js";
import type { Outline, OutlineRow } from "./outline.js";

interface Shown {
  scroller: RefObject<HTMLDivElement | null>;
  outline: Outline;
  rows: readonly OutlineRow[];
  current: number;
}

/**
 * Keeps a row where it is when the trace has grown: calls that came before it, and parents that arrived late, move what is above.
 * It is the row under the cursor while that can be seen, else the first one in the window.
 */
export function useRowsInPlace({ scroller, outline, rows, current }: Shown, height: number): void {
  const before = useRef({ outline, rows, current });
  useLayoutEffect(() => {
    const { outline: old, rows: oldRows, current: oldCurrent } = before.current;
    before.current = { outline, rows, current };
    const element = scroller.current;
    if (old === outline || element === null) return;
    const top = element.scrollTop / height;
    const isSeen = oldCurrent >= top && oldCurrent < top + element.clientHeight / height;
    const place = isSeen ? oldCurrent : Math.ceil(top);
    const row = oldRows[place];
    if (row === undefined || place === 0) return;
    const key = keyOfRow(old, row);
    const now = rows.findIndex((each) => keyOfRow(outline, each) === key);
    if (now >= 0) element.scrollTop += (now - place) * height;
  }, [scroller, outline, rows, current, height]);
}
