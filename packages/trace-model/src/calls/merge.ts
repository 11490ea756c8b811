import type { CallEnd, CallPart, CallSides, CallStart } from "./part.js";

/**
 * Merges parts of one call, in the order they arrived, into what is stored. Each side is taken from the newest part
 * that has it and is compared on its own, so that a repeated half changes nothing and needs no write.
 */
export function mergeParts(
  stored: CallSides | undefined,
  parts: readonly CallPart[],
): { sides: CallSides; start_changed: boolean; end_changed: boolean } {
  let start: CallStart | undefined;
  let end: CallEnd | undefined;
  for (const part of parts) {
    if (part.part !== "end") start = part.start;
    if (part.part !== "start") end = part.end;
  }
  const start_changed = start !== undefined && !(stored?.start && sameStart(stored.start, start));
  const end_changed = end !== undefined && !(stored?.end && sameEnd(stored.end, end));
  return {
    sides: {
      start: start_changed ? start : stored?.start,
      end: end_changed ? end : stored?.end,
    },
    start_changed,
    end_changed,
  };
}

/** Whether two starts say the same. Absent, null and "" are one. */
export function sameStart(a: CallStart, b: CallStart): boolean {
  return (
    a.started_at === b.started_at &&
    a.op_name === b.op_name &&
    a.trace_id === b.trace_id &&
    sameText(a.parent_id, b.parent_id) &&
    sameText(a.thread_id, b.thread_id) &&
    sameText(a.turn_id, b.turn_id) &&
    sameText(a.display_name, b.display_name) &&
    sameText(a.wb_user_id, b.wb_user_id) &&
    sameText(a.wb_run_id, b.wb_run_id) &&
    sameText(a.source, b.source) &&
    sameValue(a.wb_run_step, b.wb_run_step) &&
    sameValue(a.expire_at, b.expire_at) &&
    a.inputs === b.inputs &&
    a.attributes === b.attributes
  );
}

/** Whether two ends say the same. An absent output is null; the hint of the start does not count. */
export function sameEnd(a: CallEnd, b: CallEnd): boolean {
  return (
    a.ended_at === b.ended_at &&
    sameText(a.exception, b.exception) &&
    sameValue(a.wb_run_step_end, b.wb_run_step_end) &&
    (a.output ?? "null") === (b.output ?? "null") &&
    a.summary === b.summary
  );
}

function sameText(a: string | null | undefined, b: string | null | undefined): boolean {
  return (a ?? "") === (b ?? "");
}

function sameValue<T>(a: T | null | undefined, b: T | null | undefined): boolean {
  return (a ?? undefined) === (b ?? undefined);
}
