import { callsAggregate, callsFields, callsPage } from "@heddle/client/tracing";
import type { CallsFieldsRes } from "@heddle/client/tracing";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useSession } from "../../session/session-context.js";
import { selectionOf } from "../calls-search.js";
import type { CallsSearch } from "../calls-search.js";
import { readWhere, userPath, usersIn } from "../where.js";

/** What calls are counted by, always. */
export const facets = ["status", "op", "kind", "user"] as const;
export type Facet = (typeof facets)[number];

/** The fields that conditions on a facet name, where it is not a condition of its own. */
export const facetPaths = { kind: "summary.weave.kind", user: userPath } as const;

interface Table {
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  /** False while the rows are awaited, which come first: a key has a few reads at once. */
  isOn?: boolean;
}

const shownGroups = 10;
/** Calls whose fields are looked at: the newest ones, which takes the engine little. */
const sample = 2000;
const lookAgainMs = 2000;

/** The groups of the calls with most calls. A condition on the facet itself does not count: others can be chosen instead. */
export function useFacet({ projectId, search, openedAt, isOn = true }: Table, facet: Facet) {
  const session = useSession();
  const selection = selectionOf(facet in search ? { ...search, [facet]: undefined } : search, openedAt);
  return useQuery({
    queryKey: ["calls-facet", projectId, facet, selection],
    queryFn: ({ signal }) =>
      callsAggregate(
        session.connection,
        { project_id: projectId, ...selection, group_by: [facet], metrics: ["count"], top: shownGroups },
        { signal },
      ),
    placeholderData: keepPreviousData,
    enabled: isOn,
    staleTime: 30_000,
  });
}

const recentCalls = 200;

/** The names of users, by their ids: those of the newest calls, and of the newest call of each who has none of these. */
export function useUserNames(projectId: string, ids: readonly string[]) {
  const session = useSession();
  return useQuery({
    queryKey: ["user-names", projectId, ids],
    queryFn: async ({ signal }) => {
      const names = new Map<string, string>();
      const read = async (limit: number, id?: string) => {
        const { calls } = await callsPage(
          session.connection,
          {
            project_id: projectId,
            limit,
            select: ["user"],
            include: ["users"],
            ...(id !== undefined && {
              query: { $expr: { $eq: [{ $getField: userPath }, { $literal: id }] } },
            }),
          },
          { signal },
        );
        for (const { user } of calls) if (user?.name !== undefined) names.set(user.id, user.name);
      };
      await read(recentCalls);
      for (const id of ids) if (!names.has(id)) await read(1, id);
      return names;
    },
    enabled: ids.length > 0,
    staleTime: Infinity,
  });
}

/** The names of the users that the conditions of tables name. */
export const useUsersOf = (projectId: string, tables: readonly CallsSearch[]) =>
  useUserNames(projectId, [...new Set(tables.flatMap(({ where }) => usersIn(readWhere(where))))]).data;

/** The time for it was over before one call was looked at. */
export const isUnseen = ({ sampled, complete, of }: CallsFieldsRes): boolean =>
  sampled === 0 && !complete && of.value > 0;

/** Which members the documents of the newest of these calls have, and with which values. */
export function useFields({ projectId, search, openedAt, isOn = true }: Table, under?: string) {
  const session = useSession();
  const selection = selectionOf(search, openedAt);
  return useQuery({
    queryKey: ["calls-fields", projectId, under, selection],
    queryFn: ({ signal }) =>
      callsFields(
        session.connection,
        { project_id: projectId, ...selection, sample, ...(under !== undefined && { under }) },
        { signal },
      ),
    placeholderData: keepPreviousData,
    enabled: isOn,
    staleTime: 30_000,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isUnseen(data) ? lookAgainMs : false),
  });
}
