import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { CallLookup } from "./find-stored.js";
import type { CommitEntry } from "./group-commits.js";
import type { PreparedPart, RejectedPart } from "./prepare.js";
import type { IncomingCall } from "./plan-writes.js";
import { writeCalls } from "./write-calls.js";
import type { NameChange } from "./write-calls.js";
import type { IngestContext } from "../context.js";

/** One request that waits for its commit. */
export interface WriteRequest extends CommitEntry {
  parts: readonly PreparedPart[];
  names: readonly NameChange[];
  resolve: (rejected: RejectedPart[]) => void;
  reject: (error: unknown) => void;
}

/** Writes the parts of several requests in one commit; later parts win over earlier ones. Parts and names of deleted calls are dropped. */
export async function commitParts(context: IngestContext, requests: readonly WriteRequest[]): Promise<void> {
  const { engine, state } = context;
  const calls = new Map<string, IncomingCall & CallLookup>();
  const deleted = await state.deleted.among(
    engine,
    requests.flatMap<CallKey>((request) => [...request.parts, ...request.names]),
  );
  for (const { parts } of requests) {
    for (const part of parts) {
      const { key, project_id, id, start, end, row, started_at } = part;
      if (deleted.has(key)) continue;
      const call = calls.get(key);
      if (call === undefined) {
        calls.set(key, { project_id, id, start, end, row, started_at: start?.started_at ?? started_at });
        continue;
      }
      if (start !== undefined) call.start = start;
      if (end !== undefined) call.end = end;
      call.row = row;
      call.started_at = call.start?.started_at ?? started_at ?? call.started_at;
    }
  }
  const names = requests.flatMap((request) => request.names).filter((name) => !deleted.has(keyText(name)));
  const refused = await writeCalls(context, calls, names);
  for (const { parts, resolve } of requests) {
    const rejected: RejectedPart[] = [];
    if (refused.size > 0) {
      for (const { key, index } of parts) {
        const message = refused.get(key);
        if (message !== undefined) rejected.push({ index, message: `the trace engine refused the call: ${message}` });
      }
    }
    resolve(rejected);
  }
}
