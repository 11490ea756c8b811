import { objRead, objsQuery } from "@heddle/client/tracing";
import type { ObjQueryReq, ObjReadReq } from "@heddle/client/tracing";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";
import { filterOf } from "./kinds.js";
import type { Kind } from "./kinds.js";

const pageNames = 200;
const mostVersions = 1000;

/** What the list of a kind is asked for by, besides its offset. */
export const namesRequest = (projectId: string, kind: Kind): ObjQueryReq => ({
  project_id: projectId,
  filter: { ...filterOf(kind), latest_only: true },
  sort_by: [{ field: "created_at", direction: "desc" }],
  metadata_only: true,
  include_tags_and_aliases: true,
  limit: pageNames,
});

/** The newest version of each name, newest first, page by page. */
export function useNames(projectId: string, kind: Kind) {
  const session = useSession();
  return useInfiniteQuery({
    queryKey: ["names", projectId, kind],
    queryFn: async ({ signal, pageParam }) =>
      (await objsQuery(session.connection, { ...namesRequest(projectId, kind), offset: pageParam }, { signal })).objs,
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.length < pageNames ? undefined : pages.length * pageNames),
  });
}

/** The versions of a name without their values, newest first. */
export function useVersions(projectId: string, kind: Kind, name: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["versions", projectId, kind, name],
    queryFn: async ({ signal }) => {
      const { objs } = await objsQuery(
        session.connection,
        {
          project_id: projectId,
          filter: { is_op: kind === "ops", object_ids: [name] },
          sort_by: [{ field: "created_at", direction: "desc" }],
          metadata_only: true,
          include_tags_and_aliases: true,
          limit: mostVersions,
        },
        { signal },
      );
      return objs;
    },
  });
}

/** What a version is read by: its digest, an alias, `latest` or `v0`. */
export const versionRequest = (projectId: string, name: string, version: string): ObjReadReq => ({
  project_id: projectId,
  object_id: name,
  digest: version,
  include_tags_and_aliases: true,
});

/** A version with its value as exact text. */
export function useVersion(projectId: string, name: string, version: string | undefined) {
  const session = useSession();
  return useQuery({
    queryKey: ["version", projectId, name, version],
    queryFn: async ({ signal }) => {
      const request = versionRequest(projectId, name, version ?? "latest");
      return (await objRead(session.connection, request, { signal, raw: true })).obj;
    },
    enabled: version !== undefined,
    structuralSharing: false,
  });
}
