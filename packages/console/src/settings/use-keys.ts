import { keyList } from "@heddle/client/tracing";
import type { KeyListResult } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";

export type Key = KeyListResult["keys"][number];

/** The keys that reach no further than the one of the reader; only admins may read them. */
export function useKeys(isAdmin: boolean) {
  const session = useSession();
  return useQuery({
    queryKey: ["keys"],
    queryFn: async ({ signal }) => (await keyList(session.connection, { signal })).keys,
    enabled: isAdmin,
  });
}
