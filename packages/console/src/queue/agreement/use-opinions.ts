import { feedbackQuery } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { asText, membersOf } from "../../json/members.js";
import { useSession } from "../../session/session-context.js";
import type { Opinion } from "./agreement.js";

/** Answers that are compared at most. */
export const mostOpinions = 10_000;

const prefix = "wandb.annotation.";

/** What annotators answered in a queue, the newest {@link mostOpinions}, oldest first. */
export function useOpinions(projectId: string, queueId: string, enabled: boolean) {
  const session = useSession();
  return useQuery({
    queryKey: ["opinions", projectId, queueId],
    queryFn: async ({ signal }) => {
      const request = {
        project_id: projectId,
        query: { $expr: { $eq: [{ $getField: "queue_id" }, { $literal: queueId }] } },
        fields: ["weave_ref", "feedback_type", "wb_user_id", "payload"],
        sort_by: [{ field: "created_at", direction: "desc" as const }],
        limit: mostOpinions,
      };
      const { result } = await feedbackQuery(session.connection, request, { signal, raw: true });
      return result.toReversed().flatMap(({ text }): Opinion[] => {
        const members = membersOf(text);
        const member = (name: string) => asText(members.get(name) ?? "null");
        const value = membersOf(members.get("payload") ?? "{}").get("value");
        const type = member("feedback_type");
        if (value === undefined || !type.startsWith(prefix)) return [];
        const field = type.slice(prefix.length);
        return [{ about: member("weave_ref"), field, annotator: member("wb_user_id"), value }];
      });
    },
    enabled,
    structuralSharing: false,
  });
}
