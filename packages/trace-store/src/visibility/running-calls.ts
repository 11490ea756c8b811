import type { StartSide } from "../stored-calls/call-sides.js";
import { isRetained } from "./retention.js";
import type { CallScope } from "./call-scope.js";

/** Memory is searched call by call, on the thread that serves all: with more calls than these the table is. */
const maxCalls = 1000;

/** A running call out of memory. */
export interface RunningCall {
  id: string;
  side: StartSide;
  version: bigint;
  started_at: bigint;
}

/**
 * The running calls that readers may see, or those of them with these ids, out of memory; undefined when memory does not
 * have them all or they are many.
 */
export function visibleRunning(scope: CallScope, ids?: readonly string[]): RunningCall[] | undefined {
  const { project_id, inFlight } = scope;
  const starts = inFlight.runningStarts(project_id);
  const hidden = inFlight.hidden(project_id);
  const isKept = isRetained(scope);
  if (starts === undefined || starts.size > maxCalls || hidden === undefined || isKept === undefined) return undefined;
  const wanted = ids && new Set(ids);
  return [...starts]
    .map(([id, { side, version }]) => ({ id, side, version, started_at: side.started_at }))
    .filter(({ id, side, version }) => {
      return version > (hidden.get(id)?.upTo ?? 0n) && isKept(side.started_at) && wanted?.has(id) !== false;
    });
}

export interface CallsSize {
  count: number;
  bytes: number;
}

/** How many calls of a project run, and their bytes, out of memory; undefined as for {@link visibleRunning}. */
export function runningSize(scope: CallScope): CallsSize | undefined {
  const visible = visibleRunning(scope);
  return visible && { count: visible.length, bytes: sizeOf(visible) };
}

export function sizeOf(calls: readonly RunningCall[]): number {
  return calls.reduce((sum, { side }) => sum + side.size_bytes, 0);
}
