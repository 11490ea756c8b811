import type { CallStatus } from "@heddle/trace-model";
import { readHead } from "./call-sides.js";
import type { EndSide, StartHead, StartSide } from "./call-sides.js";

/** What whoever writes a call knows of it, without its payloads. */
export interface KnownCall {
  start: StartHead;
  status: CallStatus;
  /** Undefined while it runs. */
  ended_at: bigint | undefined;
}

/** Undefined for a call whose names are so long that nobody should keep them. */
export function knownCall(start: StartSide, end: EndSide | undefined): KnownCall | undefined {
  const head = readHead(start);
  return head && { start: head, status: end?.status ?? "running", ended_at: end?.ended_at };
}
