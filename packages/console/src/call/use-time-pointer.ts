import { useEffect, useRef, useState } from "react";
import type { MouseEvent, PointerEvent, RefObject } from "react";
import { panned, zoomed } from "./time-window.js";
import type { TimeWindow } from "./time-window.js";

/** Where a drag began and where it is, as shares of the width of the times; and how high they are, in pixels. */
interface Dragged {
  from: number;
  to: number;
  height: number;
}

/** A pointer that moved less was held still. */
const stillPx = 4;
/** A notch of the wheel. */
const notch = 1.0015;

interface Options {
  scroller: RefObject<HTMLElement | null>;
  /** Head of the column with the times. */
  head: RefObject<HTMLElement | null>;
  window: TimeWindow;
  isZoomed: boolean;
  onWindow: (window: TimeWindow) => void;
}

/**
 * What a pointer does over the times of a trace: Ctrl and the wheel zoom around it, the wheel sideways pans, and what is dragged
 * over is shown alone.
 */
export function useTimePointer({ scroller, head, ...times }: Options) {
  const now = useRef(times);
  useEffect(() => {
    now.current = times;
  });
  const [dragged, setDragged] = useState<Dragged>();
  const began = useRef<number>(undefined);
  const placeOf = (clientX: number): number => {
    const { left, width } = head.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return (clientX - left) / Math.max(1, width);
  };
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const turn = (event: WheelEvent) => {
      const { window, isZoomed, onWindow } = now.current;
      const place = placeOf(event.clientX);
      if (place < 0) return;
      const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) onWindow(zoomed(window, notch ** event.deltaY, Math.min(1, place)));
      else if (isZoomed && sideways !== 0) onWindow(panned(window, sideways / 1000));
      else return;
      event.preventDefault();
    };
    // Otherwise the browser zooms the page.
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
    // oxlint-disable-next-line react/exhaustive-deps
  }, [scroller]);
  const end = () => {
    began.current = undefined;
    setDragged(undefined);
  };
  return {
    dragged,
    handlers: {
      onPointerDown: ({ button, clientX }: PointerEvent) => {
        if (button === 0 && placeOf(clientX) >= 0) began.current = clientX;
      },
      onPointerMove: ({ clientX, pointerId, currentTarget }: PointerEvent) => {
        if (began.current === undefined) return;
        if (dragged === undefined) {
          if (Math.abs(clientX - began.current) < stillPx) return;
          // From here on it is no click on a row.
          currentTarget.setPointerCapture(pointerId);
        }
        const inside = (place: number) => Math.max(0, Math.min(1, place));
        setDragged({
          from: inside(placeOf(began.current)),
          to: inside(placeOf(clientX)),
          height: currentTarget.clientHeight,
        });
      },
      onPointerUp: () => {
        const { window, onWindow } = now.current;
        const width = window.end - window.start;
        if (dragged !== undefined) {
          const [from, to] = [Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to)];
          onWindow({ start: window.start + from * width, end: window.start + to * width });
        }
        end();
      },
      onPointerCancel: end,
      onDragStart: (event: MouseEvent) => event.preventDefault(),
    },
  };
}
