import { callsQueryStream } from "@heddle/client/tracing";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useSession } from "../../session/session-context.js";
import { joinMessages } from "./joined.js";
import type { JoinedMessage, Seen } from "./joined.js";
import { messagesOf } from "./messages.js";
import type { Message } from "./messages.js";

/** Calls and characters that are read at a time: each call of a long conversation is sent all that was said before. */
const [stepCalls, stepCharacters] = [200, 8_000_000];

interface Step {
  messages: JoinedMessage[];
  calls: number;
  /** Where the trace goes on; undefined at its end. */
  next: Place | undefined;
  /** That of the tree when it was read. */
  seq: string | undefined;
}

interface Place {
  /** Calls before it. */
  offset: number;
  seen: Seen;
}

const beginning: Place = { offset: 0, seen: new Map() };

/**
 * The messages of the calls of models in a trace, joined, a step at a time. `seq` is that of its tree: where that has grown, the
 * steps that were read are read again, and stay meanwhile.
 */
export function useTraceMessages(projectId: string, traceId: string, seq: string | undefined) {
  const session = useSession();
  const result = useInfiniteQuery({
    queryKey: ["trace-messages", projectId, traceId],
    queryFn: async ({ signal, pageParam: { offset, seen } }): Promise<Step> => {
      const request = {
        project_id: projectId,
        filter: { trace_ids: [traceId] },
        query: { $expr: { $eq: [{ $getField: "summary.weave.kind" }, { $literal: "model" }] } },
        columns: ["inputs", "output"],
        sort_by: [{ field: "started_at", direction: "asc" }],
        limit: stepCalls + 1,
        offset,
      } satisfies Parameters<typeof callsQueryStream>[1];
      const calls: { id: string; messages: Message[] }[] = [];
      let characters = 0;
      let goesOn = false;
      for await (const { id, inputs, output } of callsQueryStream(session.connection, request, { signal, raw: true })) {
        goesOn = calls.length === stepCalls || characters > stepCharacters;
        if (goesOn) break;
        characters += inputs.text.length + (output?.text.length ?? 0);
        calls.push({ id, messages: messagesOf({ inputs: inputs.text, output: output?.text }) });
      }
      const joined = joinMessages(calls, seen);
      const next = goesOn ? { offset: offset + calls.length, seen: joined.seen } : undefined;
      return { messages: joined.messages, calls: calls.length, next, seq };
    },
    initialPageParam: beginning,
    getNextPageParam: ({ next }) => next,
    enabled: seq !== undefined,
    structuralSharing: false,
  });
  const { data, refetch } = result;
  useEffect(() => {
    // What is being read is read to its end: a trace may grow faster.
    if (data !== undefined && data.pages[0]?.seq !== seq) void refetch({ cancelRefetch: false });
  }, [data, seq, refetch]);
  return result;
}
