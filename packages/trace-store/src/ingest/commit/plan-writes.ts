import type { UsageRow } from "@heddle/trace-model";
import { sameUsage } from "@heddle/trace-model";
import { sameSide } from "../../stored-calls/call-sides.js";
import type { EndSide, StartSide } from "../../stored-calls/call-sides.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { callRow, closedRow, hiddenRow, openEndRow, openStartRow, withVersion } from "../../stored-calls/rows.js";
import type { CompleteCall } from "./read-stored.js";
import type { OpenSides } from "../../stored-calls/call-sides.js";

/** The newest start and end of one call among the parts of a commit. */
export interface IncomingCall extends CallKey {
  start?: StartSide;
  end?: EndSide;
  /** Holds just these two sides. */
  row?: Buffer;
}

/** The own usage of a call, once both sides are known. */
export interface PlannedUsage {
  own: readonly UsageRow[];
  /** The stored row has another one. */
  changed: boolean;
}

/** What is stored of a call: its complete row, sides that are still open, or both after a crash. */
export interface StoredState extends OpenSides {
  call?: CompleteCall;
}

/** The rows that bring a call from what is stored to what is known now. */
export interface CallWrites {
  /** Row of `calls`. */
  complete?: Uint8Array;
  /** Rows of `call_parts`: sides that are closed, or opened. */
  parts: Uint8Array[];
  /** A row of `call_hidden`, the version that it hides and when that starts. */
  hidden?: { row: Uint8Array; version: bigint; started_at: bigint };
  /** The sides of the call afterwards: both of one that is complete, else those that are open. */
  sides: { start: StartSide | undefined; end: EndSide | undefined };
}

/**
 * Decides what one call needs. A side comes from the newest part that has it; what is equal to what is stored is not
 * written. A replacement is the new row, then a hidden row for the exact old version.
 */
export function planWrites(call: IncomingCall, stored: StoredState, version: bigint, usage?: PlannedUsage): CallWrites {
  const { start, end } = sidesOf(call, stored);
  const parts: Uint8Array[] = [];
  if (start !== undefined && end !== undefined) {
    if (stored.start !== undefined) parts.push(closedRow(call, "start", version));
    if (stored.end !== undefined) parts.push(closedRow(call, "end", version));
    const writes: CallWrites = { parts, sides: { start, end } };
    const old = stored.call;
    const isSame = old !== undefined && sameSide(old.start, start) && sameSide(old.end, end);
    if (isSame && usage?.changed !== true) return writes;
    // Equal to what is reported, it is in the row already.
    const own = usage === undefined || sameUsage(usage.own, end.usage) ? undefined : usage.own;
    writes.complete =
      (own === undefined && call.row && withVersion(call.row, version)) || callRow(call, { start, end, own }, version);
    if (old !== undefined) {
      const replaced = { version: old.version, started_at: old.start.started_at };
      writes.hidden = { row: hiddenRow(call, { ...replaced, hidden_by: "" }, version), ...replaced };
    }
    return writes;
  }
  if (start !== undefined && !(stored.start && sameSide(stored.start.side, start))) {
    parts.push(openStartRow(call, start, version));
  }
  if (end !== undefined && !(stored.end && sameSide(stored.end.side, end))) {
    parts.push(openEndRow(call, end, version));
  }
  return { parts, sides: { start, end } };
}

/** The sides of a call after a commit. */
export function sidesOf(
  call: IncomingCall,
  stored: StoredState,
): { start: StartSide | undefined; end: EndSide | undefined } {
  return {
    start: call.start ?? newest(stored.start, stored.call, "start"),
    end: call.end ?? newest(stored.end, stored.call, "end"),
  };
}

function newest<Name extends "start" | "end">(
  open: StoredState[Name],
  call: CompleteCall | undefined,
  name: Name,
): CompleteCall[Name] | undefined;
function newest(
  open: OpenSides["start"] | OpenSides["end"],
  call: CompleteCall | undefined,
  name: "start" | "end",
): StartSide | EndSide | undefined {
  if (open !== undefined && (call === undefined || open.version > call.version)) return open.side;
  return call?.[name];
}
