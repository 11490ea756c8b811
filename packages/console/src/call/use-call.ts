import { callRead, traceOutline } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";
import { factsOf } from "./call-facts.js";
import { Outline } from "./outline.js";

/** While a call of the trace runs. */
const refreshMs = 2000;

/** A call with its payload as exact text; null where there is none. */
export function useCall(projectId: string, id: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["call", projectId, id],
    queryFn: async ({ signal }) => {
      const { call } = await callRead(session.connection, { project_id: projectId, id }, { signal, raw: true });
      return call === undefined || call === null ? null : factsOf(call);
    },
    refetchInterval: ({ state: { data } }) =>
      data?.ended_at === undefined && data !== null && data !== undefined ? refreshMs : false,
    structuralSharing: false,
  });
}

/** The tree of a trace; while something in it runs, as it grows. */
export function useOutline(projectId: string, traceId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["outline", projectId, traceId],
    queryFn: async ({ signal }) =>
      new Outline(await traceOutline(session.connection, { project_id: projectId, trace_id: traceId }, { signal })),
    refetchInterval: ({ state: { data } }) => (data?.data.status.includes("running") === true ? refreshMs : false),
    structuralSharing: false,
  });
}
