import { useSession } from "../session/session-context.js";
import { useMe } from "./use-me.js";

/** Why nothing can be changed; undefined where it can. */
export function useReadOnlyReason(): string | undefined {
  const isShared = useSession().share !== undefined;
  const { data } = useMe({ enabled: !isShared });
  if (isShared) return "A link to a shared trace may only read.";
  return data?.role === "read" ? "Your key may only read. Log in with a key of the role write." : undefined;
}
