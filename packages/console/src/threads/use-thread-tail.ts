import { callsPage } from "@heddle/client/tracing";
import { useQueryClient } from "@tanstack/react-query";
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { tailOfCalls } from "../data/tails.js";
import type { BrowserSession } from "../session/session.js";
import { useSession, useSessionState } from "../session/session-context.js";
import { useIsVisible } from "../ui/use-is-visible.js";
import { mergeTurns, withoutTurns } from "./merge-turns.js";
import type { TurnsPage } from "./merge-turns.js";
import { figuresKey, turnsKey, turnsRequest } from "./use-turns.js";

/** Between two looks at what has changed, however much that is. */
const lookMs = 1000;
/** Where no tail is to be had: a browser has a few connections, and a key a few tails. */
const againMs = 5000;
/** Turns that are read again at a time. */
const mostTurns = 100;

interface Followed {
  session: BrowserSession;
  client: QueryClient;
  projectId: string;
  threadId: string;
}

/**
 * Keeps a thread as it is now while the page can be seen, by a tail of its calls: turns that changed are read, and figures of
 * these, however long the thread is. `after` is what the first page has; undefined until it is there.
 */
export function useThreadTail(projectId: string, threadId: string, after: string | undefined): void {
  const session = useSession();
  const client = useQueryClient();
  const { logIns, isReachable } = useSessionState();
  const isVisible = useIsVisible();
  const isOn = isVisible && isReachable && after !== undefined;
  useEffect(() => {
    if (!isOn) return undefined;
    const stopped = new AbortController();
    void follow({ session, client, projectId, threadId }, after, stopped.signal);
    return () => stopped.abort(new Error("the thread is not shown any more"));
    // A tail goes on where the first page is read again.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session, client, projectId, threadId, isOn, logIns]);
}

async function follow(thread: Followed, after: string, signal: AbortSignal): Promise<void> {
  const { session, client, projectId, threadId } = thread;
  const changed = new Set<string>();
  const gone = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = async () => {
    timer = undefined;
    const ids = [...changed].slice(0, mostTurns);
    for (const id of ids) changed.delete(id);
    if (gone.size > 0) {
      const deleted = new Set(gone);
      gone.clear();
      change(thread, (pages) => withoutTurns(pages, deleted));
      // Of which turn a deleted call was is not known any more.
      void client.invalidateQueries({ queryKey: figuresKey(projectId, []).slice(0, 2) });
    }
    // What fails is read at the next change.
    if (ids.length > 0) await readTurns(thread, { filter: { call_ids: ids } }, signal).catch(() => undefined);
    if (changed.size > 0) lookSoon();
  };
  const lookSoon = () => {
    if (!signal.aborted) timer ??= setTimeout(() => void look(), lookMs);
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  const request = { project_id: projectId, filter: { thread_ids: [threadId] }, select: ["turn_id"], after };
  try {
    for await (const { kind, id, call } of tailOfCalls(session.connection, request, { signal })) {
      if (kind === "gap") await client.invalidateQueries({ queryKey: turnsKey(projectId, threadId) });
      if (kind === "removed" && id !== undefined) gone.add(id);
      if (call?.turn_id !== undefined) changed.add(call.turn_id);
      if (changed.size > 0 || gone.size > 0) lookSoon();
    }
  } catch {
    if (signal.aborted) return;
    const newest = { sort_by: [{ field: "started_at", direction: "desc" as const }] };
    const again = setInterval(() => void readTurns(thread, newest, signal).catch(() => undefined), againMs);
    signal.addEventListener("abort", () => clearInterval(again), { once: true });
  }
}

type Which = { filter?: { call_ids: string[] }; sort_by?: { field: string; direction: "desc" }[] };

/** Reads turns as they are now, and the figures of these. */
async function readTurns(thread: Followed, which: Which, signal: AbortSignal): Promise<void> {
  const { session, client, projectId, threadId } = thread;
  const request = turnsRequest(projectId, threadId);
  const filter = { ...request.filter, ...which.filter };
  const limit = which.filter === undefined ? request.limit : mostTurns;
  const { calls } = await callsPage(session.connection, { ...request, ...which, filter, limit }, { signal, raw: true });
  change(thread, (pages) => mergeTurns(pages, calls));
  const ids = new Set(which.filter?.call_ids ?? calls.map(({ id }) => id));
  await client.invalidateQueries({
    predicate: ({ queryKey: [name, of, turns] }) =>
      name === figuresKey(projectId, [])[0] &&
      of === projectId &&
      Array.isArray(turns) &&
      turns.some((turn) => ids.has(String(turn))),
  });
}

function change({ client, projectId, threadId }: Followed, by: (pages: readonly TurnsPage[]) => TurnsPage[]): void {
  client.setQueryData<InfiniteData<TurnsPage>>(
    turnsKey(projectId, threadId),
    (data) => data && { ...data, pages: by(data.pages) },
  );
}
