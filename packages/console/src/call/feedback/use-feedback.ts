import { feedbackCreate, feedbackPurge, feedbackQuery } from "@heddle/client/tracing";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { NewFeedback } from "../../feedback/kinds.js";
import { useSession } from "../../session/session-context.js";
import { callRef } from "./call-ref.js";

const mostFeedback = 200;

/** The feedback on a call, oldest first, and what changes it. */
export function useFeedback(projectId: string, callId: string) {
  const session = useSession();
  const client = useQueryClient();
  const queryKey = ["feedback", projectId, callId];
  const weave_ref = callRef(projectId, callId);
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const $expr = { $eq: [{ $getField: "weave_ref" }, { $literal: weave_ref }] };
      const fields = ["id", "feedback_type", "payload", "creator", "wb_user_id", "created_at"];
      const request = { project_id: projectId, query: { $expr }, fields, limit: mostFeedback };
      return (await feedbackQuery(session.connection, request, { signal, raw: true })).result;
    },
    structuralSharing: false,
  });
  const onSettled = () => client.invalidateQueries({ queryKey });
  const give = useMutation({
    // Sent again under its id it is given once.
    mutationFn: ({ id, given }: { id: string; given: NewFeedback }) =>
      feedbackCreate(session.connection, { project_id: projectId, id, weave_ref, ...given }),
    onSettled,
  });
  const takeBack = useMutation({
    mutationFn: (id: string) =>
      feedbackPurge(session.connection, {
        project_id: projectId,
        query: { $expr: { $eq: [{ $getField: "id" }, { $literal: id }] } },
      }),
    onSettled,
  });
  return { query, give, takeBack };
}
