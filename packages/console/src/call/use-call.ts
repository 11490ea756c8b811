import { callRead, traceOutline } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";
import { factsOf } from "./call-facts.js";
import { Outline } from "./outline.js";

export const callKey = (projectId: string, id: string): string[] => ["call", projectId, id];
export const outlineKey = (projectId: string, traceId: string): string[] => ["outline", projectId, traceId];

/** A call with its payload as exact text; null where there is none. */
export function useCall(projectId: string, id: string) {
  const session = useSession();
  return useQuery({
    queryKey: callKey(projectId, id),
    queryFn: async ({ signal }) => {
      const { call } = await callRead(session.connection, { project_id: projectId, id }, { signal, raw: true });
      return call === undefined || call === null ? null : factsOf(call);
    },
    structuralSharing: false,
  });
}

/** The tree of a trace. */
export function useOutline(projectId: string, traceId: string) {
  const session = useSession();
  return useQuery({
    queryKey: outlineKey(projectId, traceId),
    queryFn: async ({ signal }) =>
      new Outline(await traceOutline(session.connection, { project_id: projectId, trace_id: traceId }, { signal })),
    structuralSharing: false,
  });
}
