import type { CallKey } from "../../stored-calls/call-key.js";
import { everyVersion } from "../../stored-calls/hidden-call.js";
import { hiddenRow, hiddenRowColumns } from "../../stored-calls/rows.js";
import type { HiddenRow } from "../../stored-calls/rows.js";
import { insertTrusted } from "./write-calls.js";
import type { IngestContext } from "../context.js";

export interface HiddenVersion extends HiddenRow {
  call: CallKey;
}

/** Hides versions of calls from readers: in `call_hidden`, and then in memory. Returns the version of the change. */
export async function hideVersions(
  { engine, clock, state }: IngestContext,
  hidden: readonly HiddenVersion[],
): Promise<bigint> {
  if (hidden.length === 0) return clock.last();
  const rowVersion = clock.next();
  const rows = hidden.map(({ call, ...version }) => hiddenRow(call, version, rowVersion));
  await insertTrusted(engine, "call_hidden", hiddenRowColumns, rows);
  for (const { call, version, started_at } of hidden) {
    const upTo = version === 0n ? everyVersion : version;
    state.hiddenCalls.add(call, upTo, started_at);
    state.newestCalls.remove(call, started_at, upTo);
  }
  return rowVersion;
}
