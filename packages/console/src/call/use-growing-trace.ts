import type { Connection } from "@heddle/client/tracing";
import { useQueryClient } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { tailOfCalls } from "../data/tails.js";
import { useSession, useSessionState } from "../session/session-context.js";
import { useIsVisible } from "../ui/use-is-visible.js";
import type { Outline } from "./outline.js";
import { callKey, outlineKey } from "./use-call.js";

/** Between two looks at a trace that changes, however much that is. */
const lookMs = 1000;
/** A long trace takes long to read: it is not read most of the time. */
const restFactor = 4;
/** Where no tail is to be had: a browser has a few connections, and a key a few tails. */
const againMs = 2000;

/**
 * Follows a trace by a tail while something in it runs and the page can be seen: the tree grows, and calls that are shown are
 * read again when they change.
 */
export function useGrowingTrace(projectId: string, traceId: string, outline: Outline | undefined): void {
  const session = useSession();
  const client = useQueryClient();
  const { logIns, isReachable } = useSessionState();
  const isVisible = useIsVisible();
  const isOn = isVisible && isReachable && outline?.data.status.includes("running") === true;
  useEffect(() => {
    if (!isOn) return undefined;
    const stopped = new AbortController();
    const { signal } = stopped;
    const trace = { connection: session.connection, client, projectId, traceId, after: outline?.data.seq };
    // The link of a share reads the trace, and has no tail.
    if (session.share === undefined) void follow(trace, signal);
    else lookAgain(trace, signal);
    return () => stopped.abort(new Error("the trace is not shown any more"));
    // A tail goes on where the tree is read again.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session, client, projectId, traceId, isOn, logIns]);
}

interface Followed {
  connection: Connection<"tracing">;
  client: QueryClient;
  projectId: string;
  traceId: string;
  /** What the tree has. */
  after: string | undefined;
}

async function follow({ connection, client, projectId, traceId, after }: Followed, signal: AbortSignal): Promise<void> {
  const changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;
  let rest = 0;
  const look = async () => {
    timer = undefined;
    if (isReading) {
      lookSoon();
      return;
    }
    isReading = true;
    const ids = [...changed];
    changed.clear();
    const begun = performance.now();
    // What fails is said where it is shown.
    await Promise.all([
      client.invalidateQueries({ queryKey: outlineKey(projectId, traceId) }),
      ...ids.map((id) => client.invalidateQueries({ queryKey: callKey(projectId, id) })),
    ]);
    rest = restFactor * (performance.now() - begun);
    isReading = false;
  };
  const lookSoon = () => {
    if (!signal.aborted) timer ??= setTimeout(() => void look(), Math.max(lookMs, rest));
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  const request = { project_id: projectId, filter: { trace_ids: [traceId] }, select: ["status"], after };
  try {
    for await (const { kind, id, call } of tailOfCalls(connection, request, { signal })) {
      if (kind === "caught_up") continue;
      const changedId = id ?? call?.id;
      if (changedId !== undefined) changed.add(changedId);
      lookSoon();
    }
  } catch {
    if (signal.aborted) return;
    lookAgain({ connection, client, projectId, traceId, after }, signal);
  }
}

function lookAgain({ client, projectId, traceId }: Followed, signal: AbortSignal): void {
  const again = setInterval(() => {
    void client.invalidateQueries({ queryKey: callKey(projectId, "").slice(0, 2) });
    void client.invalidateQueries({ queryKey: outlineKey(projectId, traceId) });
  }, againMs);
  signal.addEventListener("abort", () => clearInterval(again), { once: true });
}
