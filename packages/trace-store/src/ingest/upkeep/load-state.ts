import { Parameters } from "../../engine/parameters.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { SideName } from "../../stored-calls/rows.js";
import { pendingHidden } from "../memory/hidden-calls.js";
import { hasEnd, hasStart } from "../memory/open-sides.js";
import { NewestCalls } from "../memory/newest-calls.js";
import { UsageTrees } from "../memory/usage-trees.js";
import { clockErrorUs, endOfTime } from "../memory/times.js";
import type { IngestContext } from "../context.js";
import { allRows, newestRows } from "../../schema/read-table.js";

/** What a crash can leave among the open sides. */
export interface Leftovers {
  /** Calls both of whose sides are open. */
  pairs: CallKey[];
  /** Open sides of deleted calls. */
  deleted: CallKey[];
}

interface OpenSide extends CallKey {
  part: SideName;
  trace_id: string;
  us: string;
}

/** Loads what ingest remembers. */
export async function loadState(context: IngestContext): Promise<Leftovers> {
  const { engine, state, now } = context;
  const { compacted } = state.watermarks;
  const horizon = now() - state.limits.horizonUs;
  state.reset(horizon);
  const forReaders = Promise.all([
    state.retention.load(engine),
    state.hiddenCalls.load(engine, compacted),
    state.named.load(engine),
  ]);
  const [leftovers, newest] = await Promise.all([loadOpenSides(), loadKnown(), forReaders]);
  // Readers take these without asking the table.
  state.newestCalls = newest;
  return leftovers;

  async function loadOpenSides(): Promise<Leftovers> {
    const leftovers: Leftovers = { pairs: [], deleted: [] };
    const sql = `SELECT project_id, id, part, trace_id, toUnixTimestamp64Micro(started_at) AS us FROM ${newestRows("call_parts")} WHERE closed = 0`;
    for await (const { part, trace_id, us, ...call } of engine.stream<OpenSide>({ sql })) {
      if (state.openSides.tooMany) break;
      const key = keyText(call);
      const flags = state.openSides.flags(key);
      if (flags !== 0) leftovers.pairs.push(call);
      const isStart = part === "start";
      const startedAt = isStart ? BigInt(us) : (state.openSides.time(key) ?? 0n);
      state.openSides.set(call, startedAt, flags | (isStart ? hasStart : hasEnd), isStart ? trace_id : undefined);
    }
    state.openSides.loaded();
    if (state.openSides.tooMany) leftovers.pairs = await bothOpen();
    leftovers.deleted = await deletedAndOpen();
    const deleted = new Set(leftovers.deleted.map(keyText));
    return { ...leftovers, pairs: leftovers.pairs.filter((call) => !deleted.has(keyText(call))) };
  }

  async function bothOpen(): Promise<CallKey[]> {
    const open = `FROM ${newestRows("call_parts")} WHERE closed = 0`;
    const sql = `SELECT project_id, id ${open} AND part = 'start' AND (project_id, id) IN (SELECT project_id, id ${open} AND part = 'end')`;
    return await engine.rows<CallKey>({ sql });
  }

  /** Each is found by the key of `call_hidden`. */
  async function deletedAndOpen(): Promise<CallKey[]> {
    if (state.openSides.isEmpty) return [];
    const open = `SELECT project_id, id FROM ${newestRows("call_parts")} WHERE closed = 0`;
    const sql = `SELECT DISTINCT project_id, id FROM ${allRows("call_hidden")} WHERE version = 0 AND (project_id, id) IN (${open})`;
    return await engine.rows<CallKey>({ sql });
  }

  /** From the newest back, as far as memory allows; the horizon rises where it ends. */
  async function loadKnown(): Promise<NewestCalls> {
    const params = new Parameters();
    const from = params.time(horizon);
    const sql = `SELECT project_id, id, toUnixTimestamp64Micro(started_at) AS us FROM calls
      WHERE started_at >= ${from}
        AND (project_id, id, version) NOT IN (SELECT project_id, id, version FROM ${pendingHidden(compacted)} WHERE version > 0 AND started_at >= ${from})
      ORDER BY started_at DESC, version LIMIT ${state.known.capacity}`;
    const newestCalls = new NewestCalls(state.limits.newestCallBytes, horizon);
    let rows = 0;
    let newest = horizon;
    const latest = now() + clockErrorUs;
    for await (const { us, ...call } of engine.stream<CallKey & { us: string }>({ sql, params })) {
      const startedAt = BigInt(us);
      state.known.add(keyText(call), startedAt);
      newestCalls.started(call.project_id, startedAt);
      if (startedAt > newest && startedAt <= latest) newest = startedAt;
      rows++;
    }
    if (rows >= state.known.capacity) {
      state.known.forgetOldest();
      // What was not loaded is older than what was.
      newestCalls.startedUpTo(rows === 0 ? endOfTime : state.known.horizon);
    }
    state.usage = new UsageTrees(state.limits.usageBytes, newest);
    return newestCalls;
  }
}
