import type { AnnotationQueueItem } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/tracing";
import { splitPath } from "@heddle/trace-model";
import type { TraceStore } from "@heddle/trace-store";
import { collect } from "../http/collect.js";
import { wireCall } from "./call.js";

/** The calls of a page of items, and what is wanted of them. */
export interface QueuedCalls {
  byId: ReadonlyMap<string, Schemas["CallSchema"]>;
  include_call: boolean;
  include_display_values: boolean;
}

type Wanted = Pick<Schemas["AnnotationQueueItemsQueryBody"], "project_id" | "include_display_values"> &
  Partial<Pick<Schemas["AnnotationQueueItemsQueryBody"], "include_call" | "columns">>;

/** Items whose calls one response may hold; also what a filter of calls takes. */
const maxCalls = 1000;

/**
 * Reads the calls of items in one go, when the request wants anything of them. Deleted ones are missing. Throws
 * `too_large` for more than 1000 items.
 */
export async function readQueuedCalls(
  store: TraceStore,
  request: Wanted,
  items: readonly AnnotationQueueItem[],
  signal: AbortSignal,
): Promise<QueuedCalls | undefined> {
  const { project_id, include_call = false, include_display_values } = request;
  if (!include_call && !include_display_values) return undefined;
  if (items.length > maxCalls) {
    throw new HeddleError("too_large", `more than ${maxCalls} items with their calls: ask for a page`, {
      loc: ["limit"],
    });
  }
  const byId = new Map<string, Schemas["CallSchema"]>();
  // A filter without ids would be none.
  if (items.length === 0) return { byId, include_call, include_display_values };
  const displayRoots = include_display_values ? items.flatMap(({ display_fields }) => display_fields.map(rootOf)) : [];
  const wanted = include_call ? request.columns : [];
  const columns = wanted && [...new Set([...wanted, ...displayRoots])];
  const filter = { call_ids: items.map(({ call_id }) => call_id) };
  const calls = await collect(store.calls.query({ project_id, filter, columns }, { signal }));
  for (const call of calls) byId.set(call.id, wireCall(call));
  return { byId, include_call, include_display_values };
}

const rootOf = (path: string): string => splitPath(path)[0] ?? "";
