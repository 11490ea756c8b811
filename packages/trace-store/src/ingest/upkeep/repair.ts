import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { findInconsistencies } from "./find-inconsistencies.js";
import type { Inconsistencies } from "./find-inconsistencies.js";
import type { CallLookup } from "../commit/find-stored.js";
import { hideVersions } from "../commit/hide-versions.js";
import type { HiddenVersion } from "../commit/hide-versions.js";
import type { IncomingCall } from "../commit/plan-writes.js";
import { writeCalls } from "../commit/write-calls.js";
import type { IngestContext } from "../context.js";

/**
 * Finds and repairs what a crash can leave among the calls written since a version: complete calls with an open side,
 * calls with both sides open (`pairs`), and calls with several versions that nothing hides. Memory then knows where
 * the newest version of those is.
 */
export async function findAndRepair(
  context: IngestContext,
  since: bigint,
  pairs: readonly CallKey[] = [],
): Promise<void> {
  const found = await findInconsistencies(context, since);
  for (const { versions, ...call } of found.doubled) {
    const newest = versions.at(-1);
    if (newest !== undefined) context.state.known.add(keyText(call), BigInt(newest[1]));
  }
  await repair(context, found, pairs);
}

/**
 * Repairs calls that were found before: by now some may be consistent, or have newer versions. The newest part wins each side,
 * as in any commit.
 */
export async function repair(
  context: IngestContext,
  found: Inconsistencies,
  pairs: readonly CallKey[] = [],
): Promise<void> {
  await hideVersions(context, found.doubled.flatMap(olderVersions));
  const calls = new Map<string, IncomingCall & CallLookup>();
  for (const { us, ...call } of found.open) {
    const key = keyText(call);
    if (!context.state.deleted.has(key)) calls.set(key, { ...call, started_at: BigInt(us), thorough: true });
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
