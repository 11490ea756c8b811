import { callRead } from "@heddle/client/tracing";
import { listServedModels } from "@heddle/client/training";
import { useQuery } from "@tanstack/react-query";
import { chatRequestOf } from "../call/replay/replay.js";
import { useSession } from "../session/session-context.js";
import { draftOf } from "./draft.js";
import type { Draft } from "./draft.js";

/** A recorded call to be tried again. */
export interface Recorded {
  draft: Draft;
  model: string;
  /** What it made, as exact text. */
  inputs: string;
  output: string;
  exception: string | undefined;
}

/** The call that an address names; null where it is none of a chat model, or is not there. */
export function useRecorded(projectId: string, callId: string | undefined) {
  const session = useSession();
  return useQuery({
    queryKey: ["recorded", projectId, callId],
    queryFn: async ({ signal }): Promise<Recorded | null> => {
      const { call } = await callRead(
        session.connection,
        { project_id: projectId, id: callId ?? "" },
        { signal, raw: true },
      );
      const request = call?.inputs === undefined ? undefined : chatRequestOf(call.inputs.text);
      if (call === undefined || call === null || request === undefined) return null;
      return {
        ...draftOf(request),
        inputs: call.inputs.text,
        output: call.output?.text ?? "null",
        exception: call.exception ?? undefined,
      };
    },
    enabled: callId !== undefined,
    staleTime: Infinity,
    structuralSharing: false,
  });
}

/** The models that chat completions find. */
export function useModels() {
  const session = useSession();
  return useQuery({
    queryKey: ["served-models"],
    queryFn: async ({ signal }) => (await listServedModels(session.training, { signal })).data,
    staleTime: 30_000,
  });
}
