import type { Query, QueryClient } from "@tanstack/react-query";

/**
 * What failed stays said while it is read again, until there is a result: without this, a query without data forgets its
 * failure as soon as it is read again, and the message and its button vanish under the pointer each time.
 */
export function keepFailures(client: QueryClient): void {
  const failures = new WeakMap<Query, Error>();
  client.getQueryCache().subscribe((event) => {
    if (event.type !== "updated") return;
    const { query, action } = event;
    const failure = failures.get(query);
    if (action.type === "fetch" && failure !== undefined && query.state.data === undefined)
      query.setState({ status: "error", error: failure });
    else if (query.state.error === null) failures.delete(query);
    else failures.set(query, query.state.error);
  });
}
