import { objRead } from "@heddle/client/tracing";
import { useQueries } from "@tanstack/react-query";
import { isNotFound } from "../data/is-not-found.js";
import { useSession } from "../session/session-context.js";
import { fieldOf, nameOf } from "./fields/field.js";
import type { Field } from "./fields/field.js";
import { failureOf, retryFailed } from "../data/several-reads.js";

/** What a queue names and nobody can answer, and why. */
export interface NoField {
  name: string;
  reason: string;
}

/** The fields that a queue asks for, in its order. */
export function useFields(projectId: string, refs: readonly string[]) {
  const session = useSession();
  return useQueries({
    queries: refs.map((ref) => ({
      queryKey: ["field", projectId, ref],
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<Field | NoField> => {
        const name = nameOf(ref);
        const digest = ref.slice(ref.lastIndexOf(":") + 1);
        if (!ref.startsWith(`weave:///${projectId}/object/`))
          return { name, reason: "is not an annotation specification of this project." };
        try {
          const { obj } = await objRead(
            session.connection,
            { project_id: projectId, object_id: name, digest },
            { signal },
          );
          return fieldOf(ref, obj.val) ?? { name, reason: "is answered by a program, not by people." };
        } catch (error) {
          if (isNotFound(error)) return { name, reason: "was deleted." };
          throw error;
        }
      },
      // A version does not change.
      staleTime: Infinity,
    })),
    combine: (results) => {
      const known = results.flatMap(({ data }) => data ?? []);
      return {
        fields: known.filter((one): one is Field => "input" in one),
        others: known.filter((one): one is NoField => "reason" in one),
        error: failureOf(results),
        isComplete: results.every(({ data }) => data !== undefined),
        retry: () => retryFailed(results),
      };
    },
  });
}
