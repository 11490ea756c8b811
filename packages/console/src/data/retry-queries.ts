import type { Query, QueryClient } from "@tanstack/react-query";
import { onceSeenAfter, waitBeforeRetry } from "./retry-later.js";

/** Reads again what a screen shows and could not be read, for as long as that may pass. */
export function retryQueries(client: QueryClient): void {
  const failures = new WeakMap<Query, number>();
  const waiting = new Map<Query, () => void>();
  client.getQueryCache().subscribe((event) => {
    const { query } = event;
    const what = event.type === "updated" ? event.action.type : event.type;
    if (what !== "removed" && what !== "fetch" && what !== "success" && what !== "error") return;
    waiting.get(query)?.();
    waiting.delete(query);
    if (what === "removed" || what === "success") failures.delete(query);
    if (event.type !== "updated" || event.action.type !== "error") return;
    const count = (failures.get(query) ?? 0) + 1;
    failures.set(query, count);
    const wait = waitBeforeRetry(event.action.error, count);
    if (wait === undefined) return;
    const again = () => {
      waiting.delete(query);
      // A read that failed is told of where it is shown.
      if (query.isActive()) void client.refetchQueries({ queryKey: query.queryKey, exact: true });
    };
    waiting.set(query, onceSeenAfter(wait, again));
  });
}
