import { memberOf, withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { opNamePart } from "../refs/op-name.js";

export type CallStatus = "success" | "error" | "running" | "descendant_error";

/** The state of a call, computed from what the client sent. An empty exception counts as none. */
export function statusOf(call: {
  exception?: string | null;
  ended_at?: bigint | null;
  summary?: JsonText;
}): CallStatus {
  if (call.exception) return "error";
  if (call.ended_at === undefined || call.ended_at === null) return "running";
  return descendantErrors(call.summary ?? "{}") ? "descendant_error" : "success";
}

/** Microseconds from start to end; undefined while running, negative when the clocks disagree. */
export function latencyOf(startedAt: bigint, endedAt?: bigint | null): bigint | undefined {
  return endedAt === undefined || endedAt === null ? undefined : endedAt - startedAt;
}

/** Whole milliseconds of a latency, cut toward zero. */
export function wholeMilliseconds(latencyUs: bigint): number {
  return Number(latencyUs / 1000n);
}

/** The name shown for a call: its display name, else the readable part of its op name. */
export function traceNameOf(call: { op_name: string; display_name?: string | null }): string {
  return call.display_name || opNamePart(call.op_name);
}

/** The members the server computes into `summary.weave`. `extra` adds costs and feedback. */
export function weaveBlock(
  call: {
    op_name: string;
    display_name?: string | null;
    status: CallStatus;
    latency_us?: bigint | null;
  },
  extra: Readonly<Record<string, JsonText>> = {},
): Record<string, JsonText> {
  const { latency_us } = call;
  return {
    status: `"${call.status}"`,
    latency_ms: latency_us === undefined || latency_us === null ? "null" : String(wholeMilliseconds(latency_us)),
    trace_name: JSON.stringify(traceNameOf(call)),
    ...(call.display_name ? { display_name: JSON.stringify(call.display_name) } : {}),
    ...extra,
  };
}

/** The client's summary with the computed block in `weave`, key by key over what the client put there. */
export function summaryWithWeave(summary: JsonText, block: Readonly<Record<string, JsonText>>): JsonText {
  return withMembers(summary, { weave: withMembers(memberOf(summary, "weave") ?? "{}", block) });
}

function descendantErrors(summary: JsonText): boolean {
  if (!summary.includes("status_counts")) return false;
  const counts = memberOf(summary, "status_counts");
  return counts !== undefined && Number(memberOf(counts, "error")) > 0;
}
