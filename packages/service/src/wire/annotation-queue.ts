import type { AnnotationQueue, AnnotationQueueItem } from "@heddle/control-plane";
import { rawJson, RawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { formatTime, leafAt, splitPath } from "@heddle/trace-model";
import type { QueuedCalls } from "./queued-calls.js";

/** A stored queue as the API shows it. */
export function wireQueue(queue: AnnotationQueue): Schemas["AnnotationQueueSchema"] {
  return {
    ...queue,
    created_at: formatTime(queue.created_at),
    updated_at: formatTime(queue.updated_at),
    deleted_at: wireTimeOf(queue.deleted_at),
  };
}

/** A stored item as the API shows it, with what was asked for of its call. */
export function wireItem(item: AnnotationQueueItem, calls?: QueuedCalls): Schemas["AnnotationQueueItemSchema"] {
  const call = calls?.byId.get(item.call_id) ?? null;
  return {
    ...item,
    call_started_at: formatTime(item.call_started_at),
    call_ended_at: wireTimeOf(item.call_ended_at),
    created_at: formatTime(item.created_at),
    created_by: item.added_by,
    updated_at: formatTime(item.updated_at),
    deleted_at: null,
    ...(calls?.include_call === true && { call }),
    ...(calls?.include_display_values === true && {
      display_values: call === null ? rawJson("null") : displayValues(call, item.display_fields),
    }),
  };
}

/** The value of each path in a call, as the exact text; null where the path leads nowhere. */
function displayValues(call: Schemas["CallSchema"], paths: readonly string[]): RawJson {
  const properties = new Map<string, unknown>(Object.entries(call));
  const members = [...new Set(paths)].map((path) => {
    const [root = "", ...steps] = splitPath(path);
    const value = properties.get(root) ?? null;
    const text = value instanceof RawJson ? leafAt(value.text, steps) : JSON.stringify(steps.length > 0 ? null : value);
    return `${JSON.stringify(path)}:${text ?? "null"}`;
  });
  return rawJson(`{${members.join(",")}}`);
}

export const wireTimeOf = (time: bigint | null): string | null => (time === null ? null : formatTime(time));
