import { callsPage } from "@heddle/client/tracing";
import { useQueryClient } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { BrowserSession } from "../session/session.js";
import { useRetry } from "../data/use-retry.js";
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

interface OpenTable {
  pages: CallPages<TableRow>;
  /** Cursors are those of one selection: a period is counted from when the table was opened. */
  openedAt: number;
}

function open(session: BrowserSession, projectId: string, search: CallsSearch): OpenTable {
  const openedAt = Date.now();
  const request = tableRequest(projectId, search, openedAt);
  const pages = new CallPages<TableRow>((start, signal) =>
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
  return { pages, openedAt };
}

/** A table with its pages, those that another screen has loaded included. */
function tableOf(client: QueryClient, session: BrowserSession, projectId: string, search: CallsSearch): OpenTable {
  const key = ["call-pages", projectId, search];
  const known = client.getQueryData<OpenTable>(key);
  if (known !== undefined) return known;
  const opened = open(session, projectId, search);
  client.setQueryData(key, opened);
  return opened;
}

/** The calls that an address selects. */
export function useCallPages(projectId: string, search: CallsSearch): OpenTable & { state: PagesState } {
  const client = useQueryClient();
  const session = useSession();
  const { logIns, isReachable } = useSessionState();
  // What is open next to a table, which columns stay and how wide they are makes no other one of it.
  const key = JSON.stringify({ ...search, panel: undefined, pin: undefined, widths: undefined });
  const { pages, openedAt } = useMemo(
    () => tableOf(client, session, projectId, JSON.parse(key) as CallsSearch),
    [client, session, projectId, key],
  );
  const state = useSyncExternalStore(pages.subscribe, pages.state);
  useEffect(() => () => pages.close(), [pages]);
  useEffect(() => {
    if (isReachable && pages.state().error !== undefined) void pages.retry();
  }, [pages, logIns, isReachable]);
  useRetry(state.error, () => pages.retry());
  return { pages, openedAt, state };
}
