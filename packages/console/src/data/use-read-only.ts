import { useMe } from "./use-me.js";

/** Why nothing can be changed; undefined where it can. */
export function useReadOnlyReason(): string | undefined {
  const { data } = useMe();
  return data?.role === "read" ? "Your key may only read. Log in with a key of the role write." : undefined;
}
