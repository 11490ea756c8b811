import type { CallStart } from "../calls/part.js";
import { hasAtMost } from "@heddle/exact-json";
import { senderAttributes } from "./sender-attributes.js";
import { firstText, sources } from "./sources.js";
import type { SpanData } from "./sources.js";

const vertexSessions = sources(...senderAttributes.vertex_session);
const threadIds = sources(...senderAttributes.thread_id);
const turnMarks = sources(...senderAttributes.is_turn);
const sessions = sources(...senderAttributes.session);

/** As the wire limits thread ids. Cut ones could fall together. */
const maxThreadId = 256;

/** Where a span is in a conversation. */
export interface SpanThread {
  threadId: string | undefined;
  /** `unknown`: a span of a session that has a parent; `topsOfSessions` decides. */
  turn: boolean | "unknown";
}

/**
 * Reads the thread of a span. The session of Vertex AI wins over `wandb.thread_id`, and both win over the sessions of
 * conventions and senders, which count only with `sessionThreads`. Every span of a Vertex session is a turn, one of an explicit
 * thread only when `wandb.is_turn` says so, and one of a session when nothing of the session is above it.
 */
export function spanThread(data: SpanData, isRoot: boolean, sessionThreads: boolean): SpanThread {
  const mark = firstText(turnMarks, data);
  const vertex = firstText(vertexSessions, data);
  if (vertex !== undefined) return threadOf(vertex, true);
  const explicit = firstText(threadIds, data);
  if (explicit !== undefined) return threadOf(explicit, mark === "true");
  const session = sessionThreads ? firstText(sessions, data) : undefined;
  if (session === undefined) return { threadId: undefined, turn: false };
  if (mark !== undefined) return threadOf(session, mark === "true");
  return threadOf(session, isRoot || "unknown");
}

function threadOf(id: string, turn: SpanThread["turn"]): SpanThread {
  return !hasAtMost(id, maxThreadId) ? { threadId: undefined, turn: false } : { threadId: id, turn };
}

/** Traces nest less; a hostile one must not cost the square of its spans. */
const maxDepth = 100;

/**
 * Finds the spans of sessions that are the top of theirs: an export holds everything above them up to the root, and
 * nothing there is of the same thread. One whose parents are not in the export may be anywhere in its session.
 */
export function topsOfSessions(undecided: readonly CallStart[], all: readonly CallStart[]): CallStart[] {
  const key = (traceId: string, id: string) => `${traceId}/${id}`;
  const byId = new Map(all.map((start) => [key(start.trace_id, start.id), start]));
  return undecided.filter(({ project_id, thread_id, trace_id, parent_id }) => {
    let above = parent_id;
    for (let depth = 0; depth < maxDepth; depth++) {
      const parent = above === undefined ? undefined : byId.get(key(trace_id, above));
      if (parent === undefined) return above === undefined;
      if (parent.project_id === project_id && parent.thread_id === thread_id) return false;
      above = parent.parent_id;
    }
    return false;
  });
}
