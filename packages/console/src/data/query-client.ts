import { QueryClient } from "@tanstack/react-query";
import type { BrowserSession } from "../session/session.js";
import { keepFailures } from "./keep-failures.js";
import { retryQueries } from "./retry-queries.js";

/** What was read, by the requests. */
export function createQueryClient(session: BrowserSession): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      // The client tries again where that may help; what fails nonetheless is shown, also without a network, and read again later.
      queries: { retry: false, networkMode: "always", staleTime: 5000 },
    },
  });
  keepFailures(client);
  retryQueries(client);
  let { logIns, isReachable } = session.state();
  session.subscribe(() => {
    const state = session.state();
    // Nothing of one person is shown to the next.
    if (state.status === "out") client.clear();
    else if (state.logIns !== logIns || (state.isReachable && !isReachable)) void client.invalidateQueries();
    ({ logIns, isReachable } = state);
  });
  return client;
}
