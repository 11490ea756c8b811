import { useEffect } from "react";
import type { RefObject } from "react";

/** Calls `look` whenever an element has been scrolled, or has another size. */
export function useMovedWindow(scroller: RefObject<HTMLElement | null>, look: () => void): void {
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
}
