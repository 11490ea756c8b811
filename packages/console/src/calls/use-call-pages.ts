import { callsPage } from "@heddle/client/tracing";
import { useQueryClient } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { BrowserSession } from "../session/session.js";
import { useSession, useSessionState } from "../session/session-context.js";
import { CallPages } from "./call-pages.js";
import type { PagesState } from "./call-pages.js";
import { columnPaths, orderOf, selectionOf } from "./calls-search.js";
import type { CallsSearch } from "./calls-search.js";
import { selectedProperties } from "./columns.js";
import type { TableRow } from "./values.js";

/** Characters of a leaf that a cell can show. */
const previewChars = 200;

/** What the pages of a table are asked for by, besides their cursors. */
export const tableRequest = (projectId: string, search: CallsSearch, now: number) => ({
  project_id: projectId,
  ...selectionOf(search, now),
  sort_by: orderOf(search),
  select: [...selectedProperties, ...columnPaths(search)],
  preview_chars: previewChars,
  include: ["costs" as const],
});

function open(session: BrowserSession, projectId: string, search: CallsSearch): CallPages<TableRow> {
  // Cursors are those of one selection: a period begins when the table was opened.
  const request = tableRequest(projectId, search, Date.now());
  return new CallPages((start, signal) =>
    callsPage(
      session.connection,
      {
        ...request,
        // Once for all pages that follow.
        total: start.after === undefined && start.before === undefined ? "estimate" : "none",
        ...start,
      },
      { signal, raw: true },
    ),
  );
}

/** The pages of a table, those that another screen has loaded included. */
function pagesOf(client: QueryClient, session: BrowserSession, projectId: string, search: CallsSearch) {
  const key = ["call-pages", projectId, search];
  const known = client.getQueryData<CallPages<TableRow>>(key);
  if (known !== undefined) return known;
  const made = open(session, projectId, search);
  client.setQueryData(key, made);
  return made;
}

/** The calls that an address selects. */
export function useCallPages(
  projectId: string,
  search: CallsSearch,
): { pages: CallPages<TableRow>; state: PagesState } {
  const client = useQueryClient();
  const session = useSession();
  const { logIns, isReachable } = useSessionState();
  const key = JSON.stringify(search);
  const pages = useMemo(
    () => pagesOf(client, session, projectId, JSON.parse(key) as CallsSearch),
    [client, session, projectId, key],
  );
  const state = useSyncExternalStore(pages.subscribe, pages.state);
  useEffect(() => () => pages.close(), [pages]);
  useEffect(() => {
    if (isReachable && pages.state().error !== undefined) pages.retry();
  }, [pages, logIns, isReachable]);
  return { pages, state };
}
