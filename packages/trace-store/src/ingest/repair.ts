import { keyText } from "./call-key.js";
import type { CallKey } from "./call-key.js";
import { findDamage } from "./find-damage.js";
import type { Damage } from "./find-damage.js";
import type { SoughtCall } from "./find-stored.js";
import { hiddenRowColumns, hiddenRow } from "./rows.js";
import type { IncomingCall } from "./settle.js";
import { insertSound, writeCalls } from "./write-calls.js";
import type { IngestContext } from "./write-calls.js";

/**
 * Finds and mends what a crash can leave among the calls written since a version: complete calls with an open half,
 * calls with both halves open (`pairs`), and calls with several versions that nothing hides. Memory then knows where
 * the newest version of those is.
 */
export async function repair(context: IngestContext, since: bigint, pairs: readonly CallKey[] = []): Promise<void> {
  const damage = await findDamage(context, since);
  for (const { versions, ...call } of damage.doubled) {
    const newest = versions.at(-1);
    if (newest !== undefined) context.state.known.add(keyText(call), BigInt(newest[1]));
  }
  await mend(context, damage, pairs);
}

/**
 * Mends calls that were found before: by now some may be whole, or have newer versions. The newest part wins each side,
 * as in any commit.
 */
export async function mend(context: IngestContext, damage: Damage, pairs: readonly CallKey[] = []): Promise<void> {
  await hideOlderVersions(context, damage.doubled);
  const calls = new Map<string, IncomingCall & SoughtCall>();
  for (const { us, ...call } of damage.open) {
    const key = keyText(call);
    if (!context.state.deleted.has(key)) calls.set(key, { ...call, started_at: BigInt(us), thorough: true });
  }
  for (const call of pairs) {
    const key = keyText(call);
    if (!calls.has(key)) calls.set(key, { ...call, started_at: context.state.halves.time(key), thorough: true });
  }
  if (calls.size > 0) await writeCalls(context, calls);
}

/** What is older than another version is so for ever, whatever was written since it was found. */
async function hideOlderVersions({ engine, clock, state }: IngestContext, doubled: Damage["doubled"]): Promise<void> {
  const rowVersion = clock.next();
  const hidden: Uint8Array[] = [];
  for (const { versions, ...call } of doubled) {
    for (const [version, us] of versions.slice(0, -1)) {
      hidden.push(hiddenRow(call, { version: BigInt(version), started_at: BigInt(us), hidden_by: "" }, rowVersion));
    }
    state.projectsWithHidden.add(call.project_id);
  }
  await insertSound(engine, "call_hidden", hiddenRowColumns, hidden);
}
