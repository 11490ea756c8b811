import { idTime } from "@heddle/trace-model";
import type { Engine } from "../../engine/engine.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { StoredState } from "./plan-writes.js";
import type { IngestState } from "../memory/state.js";
import { readCompleteCalls, readOpenSides } from "./read-stored.js";
import type { CallSearch, CompleteCall } from "./read-stored.js";

/** A call to look for, with the time its start is believed to carry. */
export interface CallLookup extends CallKey {
  started_at?: bigint;
  /** Both its complete row and its open sides are read, even when memory has them. */
  thorough?: boolean;
}

const dayUs = 86_400_000_000n;
/** Clients round the same time differently in different requests. */
const secondUs = 1_000_000n;
/** Up to this many ids are found quickly anywhere: each reads a granule of `call_ids`, or the filters of the whole project. */
const [fewIds, fewIdsByFilter] = [1000, 32];
/** Each is a condition of the statement, so that no call is looked for in the months of others. */
const separateMonths = 31;

/**
 * What is stored of each call: from memory where memory proves it, else by one lookup for all of them, by project
 * and month of started_at. Calls that are provably new cost nothing.
 *
 * A part may carry another time than the stored call does. So the time that a UUIDv7 carries counts as well, and a few
 * ids that are not where they should be are looked for everywhere. What is missed (many at once, or an id without a
 * time that moves past the horizon) is repaired within a minute.
 */
export async function findStored(
  engine: Engine,
  state: IngestState,
  calls: ReadonlyMap<string, CallLookup>,
): Promise<Map<string, StoredState>> {
  const found = new Map<string, StoredState>();
  const uncached: CallKey[] = [];
  const timed: Timed[] = [];
  const untimed: CallKey[] = [];
  for (const [key, call] of calls) {
    const isOpen = state.openSides.has(key);
    if (isOpen !== false) {
      const cached = state.cache.get(key);
      if (cached === undefined) uncached.push(call);
      else found.set(key, { ...cached });
    }
    const known = state.known.startedAt(key);
    if (known !== undefined) timed.push({ call, us: known, margin: 0n });
    else if (call.thorough !== true && (isOpen === true || found.has(key) || isNew(state, call))) continue;
    else if (call.started_at !== undefined) timed.push({ call, us: call.started_at, margin: secondUs });
    else untimed.push(call);
  }
  const [openSides, storedCalls] = await Promise.all([
    readOpenSides(engine, uncached),
    findCalls(engine, state, timed, untimed),
  ]);
  for (const [key, stored] of openSides) found.set(key, stored);
  for (const [key, call] of storedCalls) found.set(key, { ...found.get(key), call });
  return found;
}

function isNew({ known }: IngestState, { id, started_at }: CallLookup): boolean {
  if (!known.provesNew(started_at)) return false;
  const createdAt = idTime(id);
  return createdAt === undefined || known.provesNew(createdAt + secondUs);
}

interface Timed {
  call: CallKey;
  /** The call started within `margin` of this time. */
  us: bigint;
  margin: bigint;
}

/** Calls whose start time is unknown are looked for near the time a UUIDv7 carries first, then everywhere. */
async function findCalls(
  engine: Engine,
  state: IngestState,
  timed: readonly Timed[],
  untimed: readonly CallKey[],
): Promise<Map<string, CompleteCall>> {
  const mayBeHidden = (projectId: string) => state.hidden(projectId)?.size !== 0;
  const near: Timed[] = [];
  const anywhere: CallKey[] = [];
  for (const call of untimed) {
    const us = idTime(call.id);
    if (us === undefined) anywhere.push(call);
    else near.push({ call, us, margin: dayUs });
  }
  const moved: Timed[] = [];
  for (const { call, us, margin } of timed) {
    const createdAt = margin === 0n ? undefined : idTime(call.id);
    if (createdAt !== undefined && (createdAt < us - margin || createdAt > us + margin)) {
      moved.push({ call, us: createdAt, margin: dayUs });
    }
  }
  const found = await readCompleteCalls(engine, byMonth([...timed, ...near, ...moved]), mayBeHidden);
  for (const { call } of near) if (!found.has(keyText(call))) anywhere.push(call);
  const lost = timed.filter(({ call, margin }) => margin > 0n && !found.has(keyText(call)));
  if (lost.length <= (state.hasAllIds() ? fewIds : fewIdsByFilter)) anywhere.push(...lost.map(({ call }) => call));
  const search = { calls: anywhere, indexed: state.indexedUpTo() };
  for (const [key, call] of await readCompleteCalls(engine, [search], mayBeHidden)) found.set(key, call);
  return found;
}

/** One search for each month, as tight as its calls allow, and one for all months that are far from now. */
function byMonth(calls: readonly Timed[]): CallSearch[] {
  const months = new Map<bigint, Timed[]>();
  for (const call of calls) {
    const month = monthOf(call.us);
    const known = months.get(month);
    if (known === undefined) months.set(month, [call]);
    else known.push(call);
  }
  const now = monthOf(BigInt(Date.now()) * 1000n);
  const distance = (month: bigint) => Math.abs(Number(month - now));
  const ordered = [...months].toSorted(([a], [b]) => distance(a) - distance(b)).map(([, some]) => some);
  const far = ordered.slice(separateMonths).flat();
  return [...ordered.slice(0, separateMonths), ...(far.length > 0 ? [far] : [])].map(searchOf);
}

function searchOf(calls: readonly Timed[]): CallSearch {
  const distinct = new Map(calls.map(({ call }) => [keyText(call), call]));
  const [first] = calls;
  const span = { from: first?.us ?? 0n, to: first?.us ?? 0n };
  for (const { us, margin } of calls) {
    if (us - margin < span.from) span.from = us - margin;
    if (us + margin > span.to) span.to = us + margin;
  }
  return { calls: [...distinct.values()], span };
}

const monthOf = (us: bigint): bigint => us / (30n * dayUs);
