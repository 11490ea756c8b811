import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { Inconsistencies } from "./find-inconsistencies.js";
import type { CallLookup } from "../commit/find-stored.js";
import { hideVersions } from "../commit/hide-versions.js";
import type { HiddenVersion } from "../commit/hide-versions.js";
import type { IncomingCall } from "../commit/plan-writes.js";
import { writeCalls } from "../commit/write-calls.js";
import type { IngestContext } from "../context.js";

/**
 * Repairs what was found: complete calls with an open side, calls with both sides open (`pairs`), and calls with several
 * versions that nothing hides. By now some may be consistent, or have newer versions. The newest part wins each side, as in
 * any commit.
 */
export async function repair(
  context: IngestContext,
  found: Inconsistencies,
  pairs: readonly CallKey[] = [],
): Promise<void> {
  await hideVersions(context, found.doubled.flatMap(olderVersions));
  const deleted = await context.state.deleted.among(context.engine, found.open);
  const calls = new Map<string, IncomingCall & CallLookup>();
  for (const { us, ...call } of found.open) {
    const key = keyText(call);
    if (!deleted.has(key)) calls.set(key, { ...call, started_at: BigInt(us), thorough: true });
  }
  for (const call of pairs) {
    const key = keyText(call);
    if (!calls.has(key)) calls.set(key, { ...call, started_at: context.state.openSides.time(key), thorough: true });
  }
  if (calls.size > 0) await writeCalls(context, calls);
}

/** An older version stays older, whatever was written since it was found. */
function olderVersions({ versions, ...call }: Inconsistencies["doubled"][number]): HiddenVersion[] {
  return versions
    .slice(0, -1)
    .map(([version, us]) => ({ call, version: BigInt(version), started_at: BigInt(us), hidden_by: "" }));
}
