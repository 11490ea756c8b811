import { feedbackCreate, feedbackPurge, feedbackQuery } from "@heddle/client/tracing";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { NewFeedback } from "../../feedback/kinds.js";
import { asText, membersOf } from "../../json/members.js";
import { useSession } from "../../session/session-context.js";
import { callRef } from "./call-ref.js";

const mostFeedback = 200;

/** A piece of feedback as it was given; its payload is exact text. */
interface Given {
  id: string;
  type: string;
  payload: string;
  creator: string;
  createdAt: string;
}

function givenOf(members: ReadonlyMap<string, string>): Given {
  const text = (name: string) => {
    const json = members.get(name) ?? "null";
    return json === "null" ? "" : asText(json);
  };
  return {
    id: text("id"),
    type: text("feedback_type"),
    payload: members.get("payload") ?? "{}",
    creator: text("creator"),
    createdAt: text("created_at"),
  };
}

/** The feedback on a call, oldest first, and what changes it. */
export function useFeedback(projectId: string, callId: string) {
  const session = useSession();
  const client = useQueryClient();
  const queryKey = ["feedback", projectId, callId];
  const about = callRef(projectId, callId);
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const $expr = { $eq: [{ $getField: "weave_ref" }, { $literal: about }] };
      const fields = ["id", "feedback_type", "payload", "creator", "wb_user_id", "created_at"];
      const request = { project_id: projectId, query: { $expr }, fields, limit: mostFeedback };
      const { result } = await feedbackQuery(session.connection, request, { signal, raw: true });
      return result.map(({ text }) => givenOf(membersOf(text)));
    },
    structuralSharing: false,
  });
  const onSettled = () => client.invalidateQueries({ queryKey });
  const give = useMutation({
    // Sent again under its id it is given once.
    mutationFn: ({ id, given }: { id: string; given: NewFeedback }) =>
      feedbackCreate(session.connection, { project_id: projectId, id, weave_ref: about, ...given }),
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
