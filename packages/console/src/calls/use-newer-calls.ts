import { callsPage } from "@heddle/client/tracing";
import { useEffect } from "react";
import { tailOfCalls } from "../data/tails.js";
import type { BrowserSession } from "../session/session.js";
import { useSession, useSessionState } from "../session/session-context.js";
import { useIsVisible } from "../ui/use-is-visible.js";
import type { CallPages } from "./call-pages.js";
import type { CallsSearch } from "./calls-search.js";
import { tableRequest } from "./use-call-pages.js";
import type { TableRow } from "./values.js";

/** Between two looks at what has changed, however much that is. */
const lookMs = 1000;
/** Changed calls whose rows are read again at a time. */
const mostIds = 200;

interface Table {
  session: BrowserSession;
  pages: CallPages<TableRow>;
  projectId: string;
  search: CallsSearch;
}

/** Keeps a table as it is now, while the page can be seen: rows that change are replaced, new calls are counted. */
export function useNewerCalls({ pages, projectId, search }: Omit<Table, "session">, isLive: boolean): void {
  const session = useSession();
  const { logIns, isReachable } = useSessionState();
  const isVisible = useIsVisible();
  const isOn = isLive && isVisible && isReachable;
  useEffect(() => {
    if (!isOn) return undefined;
    const stopped = new AbortController();
    void follow({ session, pages, projectId, search }, stopped.signal);
    return () => stopped.abort(new Error("the calls are not shown any more"));
    // `search` is another object each time, and of the pages.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session, pages, projectId, isOn, logIns]);
}

async function follow(table: Table, signal: AbortSignal): Promise<void> {
  const { session, pages, projectId, search } = table;
  const changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let looked = 0;
  const look = () => {
    timer = undefined;
    looked = performance.now();
    const known = [...changed].filter((id) => pages.indexOf(id) >= 0).slice(0, mostIds);
    changed.clear();
    // What fails is seen at the next change.
    pages.look(signal).catch(() => undefined);
    if (known.length > 0) replace(table, known, signal).catch(() => undefined);
  };
  const lookSoon = () => {
    timer ??= setTimeout(look, Math.max(50, looked + lookMs - performance.now()));
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  const { filter, query, search: words } = tableRequest(projectId, search, Date.now());
  const selection = { project_id: projectId, filter, query, search: words, select: ["status"] };
  // What came between the page and the tail.
  lookSoon();
  try {
    for await (const { kind, id, call } of tailOfCalls(session.connection, selection, { signal })) {
      if (kind === "caught_up") continue;
      const changedId = id ?? call?.id;
      if (changedId !== undefined) changed.add(changedId);
      lookSoon();
    }
  } catch {
    if (signal.aborted) return;
    // A browser has a few connections and a key a few tails: without one, the table is looked at again and again.
    const again = setInterval(lookSoon, 2 * lookMs);
    signal.addEventListener("abort", () => clearInterval(again), { once: true });
  }
}

/** Reads rows again, also those that the conditions do not mean any more: what is read does not vanish. */
async function replace(
  { session, pages, projectId, search }: Table,
  ids: string[],
  signal: AbortSignal,
): Promise<void> {
  const { select, preview_chars, include } = tableRequest(projectId, search, Date.now());
  const request = {
    project_id: projectId,
    filter: { call_ids: ids },
    select,
    preview_chars,
    include,
    limit: ids.length,
  };
  const { calls } = await callsPage(session.connection, request, { signal, raw: true });
  pages.replace(calls);
}
