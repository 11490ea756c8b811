import { callsAggregate, callsPage } from "@heddle/client/tracing";
import { keepPreviousData, useInfiniteQuery, useQueries } from "@tanstack/react-query";
import type { BrowserSession } from "../session/session.js";
import { useSession } from "../session/session-context.js";
import { failureOf } from "../data/several-reads.js";

const pageTurns = 20;
/** Who reads on in a long thread. */
const laterTurns = 100;
/** Characters of what was said that are shown: the call of the turn has all. */
const previewChars = 10_000;

/** A turn is a call whose turn is itself. */
const isTurn = { $expr: { $eq: [{ $getField: "turn_id" }, { $getField: "id" }] } };

export const turnsKey = (projectId: string, threadId: string): string[] => ["turns", projectId, threadId];
export const figuresKey = (projectId: string, turnIds: readonly string[]): unknown[] => [
  "turn-figures",
  projectId,
  turnIds,
];

/** What the turns of a thread are asked for by, besides their cursor. */
export const turnsRequest = (projectId: string, threadId: string) => ({
  project_id: projectId,
  filter: { thread_ids: [threadId] },
  query: isTurn,
  sort_by: [{ field: "started_at", direction: "asc" as const }],
  select: ["trace_id", "name", "status", "ended_at", "latency_ms", "exception", "inputs", "output"],
  preview_chars: previewChars,
  limit: pageTurns,
});

/** The turns of a thread, oldest first. `useThreadTail` keeps them as they are now. */
export function useTurns(projectId: string, threadId: string) {
  const session = useSession();
  return useInfiniteQuery({
    queryKey: turnsKey(projectId, threadId),
    queryFn: ({ signal, pageParam }) =>
      callsPage(
        session.connection,
        { ...turnsRequest(projectId, threadId), ...(pageParam !== "" && { after: pageParam, limit: laterTurns }) },
        { signal, raw: true },
      ),
    initialPageParam: "",
    getNextPageParam: ({ has_more, next }) => (has_more ? next : undefined),
    // All of a long thread is not read again: what changes is told.
    staleTime: Infinity,
    structuralSharing: false,
  });
}

/** Figures of the calls of one turn, and which ops they are of. */
export interface TurnFigures {
  calls: number;
  errors: number;
  tokens?: number | undefined;
  cost?: number | undefined;
  ops: { name: string; calls: number; errors: number }[];
}

const mostGroups = 100;
const figure = (values: Readonly<Record<string, number | null>>, name: string): number => values[name] ?? 0;

/** What happened below the turns: each turn's calls are those that have its id. So many turns are asked for at a time. */
export function useTurnFigures(projectId: string, turnIds: readonly string[]) {
  const session = useSession();
  const steps = Array.from({ length: Math.ceil(turnIds.length / pageTurns) }, (_, step) =>
    turnIds.slice(step * pageTurns, (step + 1) * pageTurns),
  );
  return useQueries({
    queries: steps.map((some) => ({
      queryKey: figuresKey(projectId, some),
      queryFn: async ({ signal }: { signal: AbortSignal }) => await readFigures(session, projectId, some, signal),
      placeholderData: keepPreviousData,
      staleTime: Infinity,
    })),
    combine: figuresOf,
  });
}

interface FiguresRead {
  data: ReadonlyMap<string, TurnFigures> | undefined;
  error: Error | null;
}

const figuresOf = (results: readonly FiguresRead[]) => ({
  figures: new Map(results.flatMap(({ data }) => [...(data ?? [])])),
  error: failureOf(results),
});

/** The API has at most so many groups in a response, of two keys as of one. */
async function readFigures(
  session: BrowserSession,
  projectId: string,
  turnIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, TurnFigures>> {
  const figures = new Map<string, TurnFigures>();
  const common = { project_id: projectId, filter: { turn_ids: [...turnIds] }, top: mostGroups };
  const [byTurn, byOp] = await Promise.all([
    callsAggregate(
      session.connection,
      { ...common, group_by: ["turn_id"], metrics: ["count", "errors", "tokens_total", "cost"] },
      { signal },
    ),
    callsAggregate(
      session.connection,
      { ...common, group_by: ["turn_id", "op"], metrics: ["count", "errors"] },
      { signal },
    ),
  ]);
  for (const { key, values } of byTurn.groups) {
    figures.set(key[0] ?? "", {
      calls: figure(values, "count"),
      errors: figure(values, "errors"),
      tokens: values["tokens_total"] ?? undefined,
      cost: values["cost"] ?? undefined,
      ops: [],
    });
  }
  for (const { key, values } of byOp.groups) {
    const [turn, name] = key;
    const op = { name: name ?? "", calls: figure(values, "count"), errors: figure(values, "errors") };
    figures.get(turn ?? "")?.ops.push(op);
  }
  return figures;
}
