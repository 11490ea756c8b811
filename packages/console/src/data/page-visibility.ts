/** Whether the page can be seen: not in another tab. */
export const isPageVisible = (): boolean => document.visibilityState === "visible";

/** Calls whenever the page is shown or hidden. Returns how to end that. */
export function onPageVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}
