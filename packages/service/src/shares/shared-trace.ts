import type { Caller } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/tracing";
import type { StoredCall, TraceStore } from "@heddle/trace-store";
import { forbidden } from "../access/authorize.js";
import { redactCall } from "./redact-call.js";

/** Calls with a file that are looked through. */
const mostCalls = 100;

/** Throws `forbidden` for the token of another trace. */
export function checkSharedTrace({ share }: Caller, traceId: string): void {
  if (share !== undefined && share.trace_id !== traceId) throw forbidden();
}

/** What the caller may see of a call: nothing of another trace than the shared one, and not what is hidden. */
export function sharedPart({ share }: Caller, call: StoredCall | undefined): StoredCall | undefined {
  if (share === undefined || call === undefined) return call;
  return call.trace_id === share.trace_id ? redactCall(call, share.redact) : undefined;
}

/** Throws `forbidden` where the token of a share asks for other feedback than that of calls of the trace. */
export async function checkSharedFeedback(
  { calls }: TraceStore,
  { share }: Caller,
  { project_id, query }: Schemas["FeedbackQueryReq"],
  signal: AbortSignal,
): Promise<void> {
  if (share === undefined) return;
  const ids = new Set(refsOf(query).map((ref) => callOf(project_id, ref)));
  const filter = { trace_ids: [share.trace_id], call_ids: [...ids] };
  let found = 0;
  for await (const _ of calls.query({ project_id, filter, columns: ["id"] }, { signal })) found += 1;
  if (ids.size === 0 || found < ids.size) throw forbidden();
}

/** The refs that a query compares with; throws `forbidden` for any other query. */
function refsOf(query: Schemas["FeedbackQueryReq"]["query"]): string[] {
  const [[operator, operands] = ["", undefined], more] = Object.entries(query?.$expr ?? {}) as Array<[string, unknown]>;
  const [field, value] = Array.isArray(operands) ? (operands as unknown[]) : [];
  const literals =
    operator === "$eq" ? [value] : operator === "$in" && Array.isArray(value) ? (value as unknown[]) : [];
  const refs = literals.map((literal) => memberOf(literal, "$literal"));
  const isByRef = more === undefined && memberOf(field, "$getField") === "weave_ref" && refs.length > 0;
  if (isByRef && refs.every((ref) => typeof ref === "string")) return refs;
  throw new HeddleError("forbidden", "a share has to ask for feedback by weave_ref, with $eq or $in", {
    loc: ["query"],
  });
}

function callOf(projectId: string, ref: string): string {
  const [, id = ""] = ref.split(`weave:///${projectId}/call/`);
  if (ref !== `weave:///${projectId}/call/${id}` || id === "") throw forbidden();
  return decodeURIComponent(id);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Whether the caller may read a file: with the token of a share, one that calls of the trace name in what it shows. */
export async function isFileShared(
  { calls }: TraceStore,
  { share }: Caller,
  { project_id, digest }: Schemas["FileContentReadReq"],
  signal: AbortSignal,
): Promise<boolean> {
  if (share === undefined) return true;
  const contains = ["inputs", "output", "attributes", "summary"].map(($getField) => ({
    $contains: { input: { $getField }, substr: { $literal: digest } },
  }));
  const request = {
    project_id,
    filter: { trace_ids: [share.trace_id] },
    query: { $expr: { $or: contains } },
    limit: mostCalls,
  };
  const name = JSON.stringify(digest);
  for await (const call of calls.query(request, { signal })) {
    const { inputs, output, attributes, summary } = redactCall(call, share.redact);
    if ([inputs, output, attributes, summary].some((text) => text.includes(name))) return true;
  }
  return false;
}
