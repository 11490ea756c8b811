import { traceOutline } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import type { CallFacts } from "../call/call-facts.js";
import { Outline } from "../call/outline.js";
import { useCall } from "../call/use-call.js";
import { useSession } from "../session/session-context.js";

/** Between two looks at a trace in which something runs. */
const lookMs = 5000;

export interface ComparedTrace {
  call: CallFacts;
  outline: Outline;
}

/** The whole trace of a call that begins one, else the call and what is below it. */
export const outlineRequest = (projectId: string, { id, trace_id, parent_id }: CallFacts) => ({
  project_id: projectId,
  trace_id,
  ...(parent_id !== undefined && { root_id: id }),
  include: ["costs" as const, "digests" as const],
});

/** A call that is compared, with the tree that it is the root of. */
export function useCompared(projectId: string, id: string) {
  const session = useSession();
  const call = useCall(projectId, id);
  const facts = call.data ?? undefined;
  const outline = useQuery({
    queryKey: ["compared", projectId, id],
    queryFn: async ({ signal }) =>
      facts === undefined
        ? null
        : new Outline(await traceOutline(session.connection, outlineRequest(projectId, facts), { signal })),
    enabled: facts !== undefined,
    structuralSharing: false,
    refetchInterval: ({ state }) => (state.data?.data.status.includes("running") === true ? lookMs : false),
  });
  const trace: ComparedTrace | undefined =
    facts === undefined || !outline.data ? undefined : { call: facts, outline: outline.data };
  return {
    trace,
    /** Whether there is no such call. */
    isMissing: call.data === null,
    error: call.error ?? outline.error,
    retry: () => (call.error === null ? outline.refetch() : call.refetch()),
  };
}
