import { callsQueryStream } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../session/session-context.js";
import { joinMessages } from "./joined.js";
import type { JoinedMessage } from "./joined.js";
import { messagesOf } from "./messages.js";
import type { Message } from "./messages.js";

/** Calls and characters that are read at most. */
const [mostCalls, mostCharacters] = [200, 8_000_000];

export interface TraceMessages {
  messages: JoinedMessage[];
  calls: number;
  /** Whether the trace has more than was read. */
  isCut: boolean;
}

/** The messages of the calls of models in a trace, joined. `seq` is that of its tree: another one is another trace. */
export function useTraceMessages(projectId: string, traceId: string, seq: string | undefined) {
  const session = useSession();
  return useQuery({
    queryKey: ["trace-messages", projectId, traceId, seq],
    queryFn: async ({ signal }): Promise<TraceMessages> => {
      const request = {
        project_id: projectId,
        filter: { trace_ids: [traceId] },
        query: { $expr: { $eq: [{ $getField: "summary.weave.kind" }, { $literal: "model" }] } },
        columns: ["inputs", "output"],
        sort_by: [{ field: "started_at", direction: "asc" }],
        limit: mostCalls,
      } satisfies Parameters<typeof callsQueryStream>[1];
      const calls: { id: string; messages: Message[] }[] = [];
      let characters = 0;
      for await (const { id, inputs, output } of callsQueryStream(session.connection, request, { signal, raw: true })) {
        characters += inputs.text.length + (output?.text.length ?? 0);
        if (characters > mostCharacters) break;
        calls.push({ id, messages: messagesOf({ inputs: inputs.text, output: output?.text }) });
      }
      const isCut = characters > mostCharacters || calls.length === mostCalls;
      return { messages: joinMessages(calls), calls: calls.length, isCut };
    },
    enabled: seq !== undefined,
    placeholderData: (before) => before,
    structuralSharing: false,
  });
}
