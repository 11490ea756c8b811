import { Parameters } from "../../engine/parameters.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import type { SideName } from "../../stored-calls/rows.js";
import { hasEnd, hasStart } from "../memory/open-sides.js";
import { UsageTrees, clockErrorUs } from "../memory/usage-trees.js";
import type { IngestContext } from "../context.js";
import { loadRetention } from "../commit/retention.js";
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

/** Takes the projects that names are stored of in place of those known before. No commit may be under way. */
export async function loadProjectsWithNames({ engine, state }: IngestContext): Promise<void> {
  const named = `SELECT DISTINCT project_id FROM ${allRows("call_names")}`;
  const rows = await engine.rows<{ project_id: string }>({ sql: named });
  state.projectsWithNames = new Set(rows.map(({ project_id }) => project_id));
}

/** Loads what ingest remembers. */
export async function loadState(context: IngestContext): Promise<Leftovers> {
  const { engine, state, now } = context;
  await state.hiddenCalls.load(engine);
  await loadProjectsWithNames(context);
  state.retention = await loadRetention(engine);
  const horizon = now() - state.limits.horizonUs;
  state.reset(horizon);
  const deleted = engine.stream<CallKey>({
    sql: `SELECT DISTINCT project_id, id FROM ${allRows("call_hidden")} WHERE version = 0`,
  });
  for await (const key of deleted) state.deleted.set(keyText(key), 0n);
  const leftovers = await loadOpenSides();
  await loadKnown();
  return leftovers;

  async function loadOpenSides(): Promise<Leftovers> {
    const leftovers: Leftovers = { pairs: [], deleted: [] };
    const sql = `SELECT project_id, id, part, trace_id, toUnixTimestamp64Micro(started_at) AS us FROM ${newestRows("call_parts")} WHERE closed = 0`;
    for await (const { part, trace_id, us, ...call } of engine.stream<OpenSide>({ sql })) {
      const key = keyText(call);
      const flags = state.openSides.flags(key);
      if (state.deleted.has(key)) leftovers.deleted.push(call);
      else if (flags !== 0) leftovers.pairs.push(call);
      const isStart = part === "start";
      const startedAt = isStart ? BigInt(us) : (state.openSides.time(key) ?? 0n);
      state.openSides.set(call, startedAt, flags | (isStart ? hasStart : hasEnd), isStart ? trace_id : undefined);
    }
    state.openSides.loaded();
    return leftovers;
  }

  /** From the newest back, as far as memory allows; the horizon rises where it ends. */
  async function loadKnown(): Promise<void> {
    const params = new Parameters();
    const from = params.time(horizon);
    const sql = `SELECT project_id, id, toUnixTimestamp64Micro(started_at) AS us FROM calls
      WHERE started_at >= ${from}
        AND (project_id, id, version) NOT IN (SELECT project_id, id, version FROM ${allRows("call_hidden")} WHERE version > 0 AND started_at >= ${from})
      ORDER BY started_at DESC, version LIMIT ${state.limits.knownCalls}`;
    let rows = 0;
    let newest = horizon;
    const latest = now() + clockErrorUs;
    for await (const { us, ...call } of engine.stream<CallKey & { us: string }>({ sql, params })) {
      const startedAt = BigInt(us);
      state.known.add(keyText(call), startedAt);
      if (startedAt > newest && startedAt <= latest) newest = startedAt;
      rows++;
    }
    if (rows >= state.limits.knownCalls) state.known.forgetOldest();
    state.usage = new UsageTrees(state.limits.usageCalls, newest);
  }
}
