import { tableQuery, tableQueryStats } from "@heddle/client/tracing";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";
import { failureOf, retryFailed } from "../data/several-reads.js";

export const pageRows = 100;

/** How many rows a table has. */
export function useRowCount(projectId: string, digest: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["row-count", projectId, digest],
    queryFn: async ({ signal }) =>
      (await tableQueryStats(session.connection, { project_id: projectId, digest }, { signal })).count,
    staleTime: Infinity,
  });
}

/** Rows of a table as exact text, by the pages that are asked for. A table never changes. */
export function useRows(projectId: string, digest: string, pages: readonly number[]) {
  const session = useSession();
  return useQueries({
    queries: pages.map((page) => ({
      queryKey: ["rows", projectId, digest, page],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const request = { project_id: projectId, digest, limit: pageRows, offset: page * pageRows };
        const { rows } = await tableQuery(session.connection, request, { signal, raw: true });
        return rows.map(({ val }) => val.text);
      },
      staleTime: Infinity,
      structuralSharing: false as const,
    })),
    combine: (results) => ({
      rows: new Map(results.flatMap(({ data }, index) => (data === undefined ? [] : [[pages[index], data] as const]))),
      error: failureOf(results),
      retry: () => retryFailed(results),
    }),
  });
}

/** The first rows of a table as exact text, and how many it has. */
export function useFirstRows(projectId: string, digest: string | undefined, most: number) {
  const session = useSession();
  return useQuery({
    queryKey: ["first-rows", projectId, digest, most],
    queryFn: async ({ signal }) => {
      const request = { project_id: projectId, digest: digest ?? "" };
      const [{ rows }, { count }] = await Promise.all([
        tableQuery(session.connection, { ...request, limit: most }, { signal, raw: true }),
        tableQueryStats(session.connection, request, { signal }),
      ]);
      return { rows: rows.map(({ val }) => val.text), total: count };
    },
    enabled: digest !== undefined,
    staleTime: Infinity,
    structuralSharing: false,
  });
}
