import type { CallsQuery } from "../src/calls/calls.js";
import type { TraceStore } from "../src/store.js";
import type { StoredCall } from "../src/stored-calls/stored-call.js";

/** All calls of a query. */
export async function listCalls(store: TraceStore, request: CallsQuery): Promise<StoredCall[]> {
  const calls: StoredCall[] = [];
  for await (const call of store.calls.query(request)) calls.push(call);
  return calls;
}

/** Their ids, in order. */
export async function listIds(store: TraceStore, request: CallsQuery): Promise<string[]> {
  return (await listCalls(store, { ...request, columns: ["id"] })).map(({ id }) => id);
}
