import { meRead } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";

/** Who is logged in; nobody is where a trace is shared. */
export function useMe({ enabled = true } = {}) {
  const session = useSession();
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => meRead(session.connection, { signal }),
    staleTime: 60_000,
    enabled,
  });
}
