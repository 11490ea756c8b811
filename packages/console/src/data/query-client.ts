import { isUnauthorized } from "@heddle/client/tracing";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import type { BrowserSession } from "../session/session.js";

/** What was read, by the requests. A 401 in it ends the session of the page. */
export function createQueryClient(session: BrowserSession): QueryClient {
  const onError = (error: unknown) => {
    if (isUnauthorized(error)) session.end();
  };
  const client = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      // The client tries again where that may help; what fails nonetheless is shown, also without a network.
      queries: { retry: false, networkMode: "always", staleTime: 5000 },
      mutations: { retry: false, networkMode: "always" },
    },
  });
  let { logIns } = session.state();
  session.subscribe(() => {
    const state = session.state();
    // Nothing of one person is shown to the next.
    if (state.status === "out") client.clear();
    else if (state.logIns !== logIns) void client.invalidateQueries();
    logIns = state.logIns;
  });
  return client;
}
