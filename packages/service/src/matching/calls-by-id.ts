import type { StoredCall, TraceStore } from "@heddle/trace-store";

/** As many as a filter takes. */
const atOnce = 1000;

/** Reads some columns of calls in parts, each in the order of the ids, without those that are gone. */
export async function* callsById(
  store: TraceStore,
  projectId: string,
  { ids, columns, signal }: { ids: readonly string[]; columns: string[]; signal: AbortSignal },
): AsyncGenerator<StoredCall[], void, undefined> {
  for (let from = 0; from < ids.length; from += atOnce) {
    const some = ids.slice(from, from + atOnce);
    const found = new Map<string, StoredCall>();
    const request = { project_id: projectId, filter: { call_ids: some }, columns };
    for await (const call of store.calls.query(request, { signal })) found.set(call.id, call);
    yield some.map((id) => found.get(id)).filter((call) => call !== undefined);
  }
}
