import { sameSide } from "./call-sides.js";
import type { EndSide, StartSide } from "./call-sides.js";
import type { CallKey } from "./call-key.js";
import { callRow, closedRow, hiddenRow, openEndRow, openStartRow, withVersion } from "./rows.js";
import type { StoredCall, StoredHalves } from "./stored-calls.js";

/** The newest start and end of one call among the parts of a commit. */
export interface IncomingCall extends CallKey {
  start?: StartSide;
  end?: EndSide;
  /** Holds just these two sides. */
  row?: Buffer;
}

/** What is stored of a call: its complete row, halves that are still open, or both after a crash. */
export interface StoredState extends StoredHalves {
  call?: StoredCall;
}

/** The rows that bring a call from what is stored to what is known now. */
export interface CallWrites {
  /** Row of `calls`. */
  complete?: Uint8Array;
  /** Rows of `call_parts`: halves that are closed, or opened. */
  parts: Uint8Array[];
  /** Rows of `call_hidden`. */
  hidden: Uint8Array[];
  /** The call afterwards: when its complete row starts, and which halves are open. */
  after: { started_at?: bigint; start?: StartSide; end?: EndSide };
}

/**
 * Decides what one call needs. A side comes from the newest part that has it; what is equal to what is stored is not
 * written. A replacement is the new row, then a hidden row for the exact old version.
 */
export function settle(call: IncomingCall, stored: StoredState, version: bigint): CallWrites {
  const start = call.start ?? newest(stored.start, stored.call, "start");
  const end = call.end ?? newest(stored.end, stored.call, "end");
  const parts: Uint8Array[] = [];
  if (start !== undefined && end !== undefined) {
    if (stored.start !== undefined) parts.push(closedRow(call, "start", version));
    if (stored.end !== undefined) parts.push(closedRow(call, "end", version));
    const writes: CallWrites = { parts, hidden: [], after: { started_at: start.started_at } };
    const old = stored.call;
    if (old !== undefined && sameSide(old.start, start) && sameSide(old.end, end)) return writes;
    writes.complete = (call.row && withVersion(call.row, version)) ?? callRow(call, start, end, version);
    if (old !== undefined) {
      const replaced = { version: old.version, started_at: old.start.started_at, hidden_by: "" };
      writes.hidden.push(hiddenRow(call, replaced, version));
    }
    return writes;
  }
  if (start !== undefined && !(stored.start && sameSide(stored.start.side, start))) {
    parts.push(openStartRow(call, start, version));
  }
  if (end !== undefined && !(stored.end && sameSide(stored.end.side, end))) {
    parts.push(openEndRow(call, end, version));
  }
  return { parts, hidden: [], after: { start, end } };
}

function newest<Name extends "start" | "end">(
  half: StoredState[Name],
  call: StoredCall | undefined,
  name: Name,
): StoredCall[Name] | undefined;
function newest(
  half: StoredHalves["start"] | StoredHalves["end"],
  call: StoredCall | undefined,
  name: "start" | "end",
): StartSide | EndSide | undefined {
  if (half !== undefined && (call === undefined || half.version > call.version)) return half.side;
  return call?.[name];
}
