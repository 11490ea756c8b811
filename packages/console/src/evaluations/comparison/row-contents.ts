import { evalResultsQuery } from "@heddle/client/tracing";
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { asText, membersOf } from "../../json/members.js";
import { linkToProject } from "../../project/project-link.js";
import { useSession } from "../../session/session-context.js";
import type { Range } from "./pieces.js";
import { failureOf, retryFailed } from "../../data/several-reads.js";

/** Rows whose contents are asked for at a time. */
const step = 50;

/** What one run did with a row, a trial at a time. Texts are exact JSON. */
export interface Trial {
  output: string;
  scores: string;
  predictionId: string | undefined;
  /** By the name of the scorer. */
  scorerIds: Readonly<Record<string, string>>;
}

export interface RowContent {
  /** What the model was given, exact JSON. */
  input: string;
  /** By the id of the run. */
  trials: ReadonlyMap<string, readonly Trial[]>;
}

/** What rows hold, by digest, of those of a range that are read. */
export function useRowContents(
  projectId: string,
  runs: readonly string[],
  rows: ReadonlyMap<number, { row_digest: string }>,
  { first, end }: Range,
) {
  const session = useSession();
  const steps = useMemo(() => {
    const found: string[][] = [];
    for (let at = Math.floor(first / step) * step; at < end; at += step) {
      const some = Array.from({ length: step }, (_, index) => rows.get(at + index)?.row_digest);
      const digests = some.filter((digest) => digest !== undefined);
      if (digests.length > 0) found.push(digests);
    }
    return found;
  }, [rows, first, end]);
  return useQueries({
    queries: steps.map((some) => ({
      queryKey: ["evaluation-rows", projectId, runs, some],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const { rows } = await evalResultsQuery(
          session.connection,
          { ...linkToProject(projectId).params, ...contentsRequest(runs, some) },
          { signal, raw: true },
        );
        return rows.map(({ row_digest, raw_data_row, evaluations = [] }) => {
          const trials = new Map(
            evaluations.map(({ evaluation_call_id: id, trials: of = [] }) => [
              id,
              of.map(({ model_output, scores, predict_call_id, scorer_call_ids = {} }): Trial => ({
                output: model_output?.text ?? "null",
                scores: scores?.text ?? "{}",
                predictionId: predict_call_id ?? undefined,
                scorerIds: scorer_call_ids,
              })),
            ]),
          );
          return [row_digest, { input: raw_data_row?.text ?? "null", trials }] as const;
        });
      },
      structuralSharing: false,
      staleTime: 60_000,
    })),
    combine: contentsOf,
  });
}

type Read = readonly (readonly [digest: string, content: RowContent])[];

const contentsOf = (
  results: readonly { data: Read | undefined; error: Error | null; refetch: () => Promise<unknown> }[],
) => ({
  contents: new Map(results.flatMap(({ data }) => data ?? [])),
  error: failureOf(results),
  refetch: () => retryFailed(results),
});

const contentsRequest = (runs: readonly string[], digests: readonly string[]) => ({
  evaluation_call_ids: [...runs],
  include_raw_data_rows: true,
  resolve_row_refs: true,
  filters: [
    {
      query: {
        $expr: { $in: [{ $getField: "row_digest" }, digests.map((digest) => ({ $literal: digest }))] },
      } as never,
    },
  ],
});

const expectedNames = ["expected", "expected_output", "target", "answer", "label", "reference", "output"];

/** What a row says that the model should return, exact JSON; undefined where it says nothing. */
export function expectedOf(input: string): { name: string; value: string } | undefined {
  const members = membersOf(input);
  for (const name of expectedNames) {
    const value = members.get(name);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

const longest = 200;

/** JSON in one line: a text without quotes, of an object with one member that member. */
export function preview(json: string, without?: string): string {
  const members = membersOf(json);
  if (members.size === 0) return asText(json.slice(0, json.startsWith('"') ? undefined : longest)).slice(0, longest);
  const others = [...members].filter(([name]) => name !== without);
  const [only] = others;
  if (others.length === 1 && only !== undefined) return asText(only[1]).slice(0, longest);
  return others
    .map(([name, value]) => `${name}: ${asText(value).slice(0, longest)}`)
    .join(" · ")
    .slice(0, longest);
}
