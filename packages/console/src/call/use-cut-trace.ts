import { callsPage } from "@heddle/client/tracing";
import type { CallsPageReq } from "@heddle/client/tracing";
import { useMemo, useState } from "react";
import { useSession } from "../session/session-context.js";
import { withLaterCalls } from "./later-calls.js";
import type { LaterCalls } from "./later-calls.js";
import { Outline } from "./outline.js";

/** Calls that are read at a time below a call. */
const pageCalls = 500;

interface CutTrace {
  /** The outline, with what was read since. */
  outline: Outline | undefined;
  /** Reads further calls below one; resolves to the id of the first of them, where there is one. */
  load: (below: string) => Promise<string | undefined>;
}

interface Later {
  pages: readonly LaterCalls[];
  /** Where to go on, by what was read below; undefined where all was. */
  next: ReadonlyMap<string, string | undefined>;
}

/** A trace with more calls than an outline has: those that are not there are read below the call that the reader opens. */
export function useCutTrace(projectId: string, traceId: string, read: Outline | undefined): CutTrace {
  const session = useSession();
  const [{ pages, next }, setLater] = useState<Later>({ pages: [], next: new Map() });
  // The link of a share reads no pages of calls.
  const isCut = read !== undefined && !read.data.complete && session.share === undefined;
  const outline = useMemo(() => {
    if (read === undefined || !isCut) return read;
    const whole = new Set([...next].flatMap(([below, cursor]) => (cursor === undefined ? [below] : [])));
    return new Outline(withLaterCalls(read.data, pages), { from: read.lastStart(), whole });
  }, [read, isCut, pages, next]);

  const load = async (below: string): Promise<string | undefined> => {
    if (read === undefined || outline === undefined) return undefined;
    const request: CallsPageReq = {
      project_id: projectId,
      filter: { trace_ids: [traceId], ...(below === "" ? { trace_roots_only: true } : { parent_ids: [below] }) },
      sort_by: [{ field: "started_at", direction: "asc" }],
      select: ["name", "status", "ended_at", "tokens"],
      limit: pageCalls,
    };
    let start = startOf(next.get(below), read.lastBelow(below));
    for (;;) {
      const page = await callsPage(session.connection, { ...request, ...start });
      const calls = page.calls.filter(({ id }) => outline.indexOf(id) < 0);
      const cursor = page.has_more ? page.next : undefined;
      if (calls.length === 0 && cursor !== undefined) {
        start = { after: cursor };
        continue;
      }
      setLater((present) => ({
        pages: calls.length === 0 ? present.pages : [...present.pages, { below, calls }],
        next: new Map(present.next).set(below, cursor),
      }));
      return calls[0]?.id;
    }
  };
  return { outline, load };
}

/** After what is there: by a cursor, else from the last known sibling on, which may have begun together with others. */
function startOf(after: string | undefined, lastUs: number | undefined): Pick<CallsPageReq, "after" | "at_time"> {
  if (after !== undefined) return { after };
  return lastUs === undefined ? {} : { at_time: new Date(Math.floor(lastUs / 1000)).toISOString() };
}
