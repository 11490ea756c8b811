import { callsQueryStream } from "@heddle/client/tracing";
import type { Connection } from "@heddle/client/tracing";

/** Payloads are read this many at a time, so that those of a long list are never held together. */
const together = 50;

/** The calls with these ids that are still there, in this order, their free JSON as it was recorded. */
export async function* wholeCalls(connection: Connection<"tracing">, projectId: string, ids: readonly string[]) {
  for (let from = 0; from < ids.length; from += together) {
    const wanted = ids.slice(from, from + together);
    const request = { project_id: projectId, filter: { call_ids: wanted }, include_costs: true };
    const found = new Map<string, unknown>();
    for await (const call of callsQueryStream(connection, request, { raw: true })) found.set(call.id, call);
    for (const id of wanted) if (found.has(id)) yield found.get(id);
  }
}
