import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { feedbackOfCalls } from "../feedback/of-calls.js";
import { expandRefs } from "./expand-refs.js";
import type { ExpandRefs } from "./expand-refs.js";
import type { StoredCall } from "../stored-calls/stored-call.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import { renames } from "../visibility/display-names.js";

/** What a page of calls gets after it was read, in groups. */
export interface Finish extends ExpandRefs {
  engine: Engine;
  names: boolean;
  totalSizes: boolean;
  feedback: boolean;
  signal: AbortSignal | undefined;
}

const groupRows = 500;
const groupBytes = 4 * 1024 * 1024;

export async function* finishCalls(
  calls: AsyncIterable<StoredCall>,
  finish: Finish,
): AsyncGenerator<StoredCall, void, undefined> {
  if (!finish.names && !finish.totalSizes && !finish.feedback && finish.expand.length === 0) {
    yield* calls;
    return;
  }
  for await (const group of groups(calls)) {
    if (finish.names) await addNames(group, finish);
    if (finish.totalSizes) await addTotals(group, finish);
    if (finish.feedback) await addFeedback(group, finish);
    yield* finish.expand.length === 0 ? group : expandRefs(group, finish);
  }
}

async function* groups(calls: AsyncIterable<StoredCall>): AsyncGenerator<StoredCall[], void, undefined> {
  let group: StoredCall[] = [];
  let bytes = 0;
  for await (const call of calls) {
    group.push(call);
    bytes += call.inputs.length + call.output.length + call.attributes.length + call.summary.length;
    if (group.length < groupRows && bytes < groupBytes) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

async function addNames(calls: StoredCall[], { engine, scope, signal }: Finish): Promise<void> {
  const p = new Parameters();
  const ids = calls.map(({ id }) => id);
  const sql = renames(p, scope().project_id, ids);
  const rows = await engine.rows<{ id: string; display_name: string }>({ sql, params: p }, { signal });
  const names = new Map(rows.map(({ id, display_name }) => [id, display_name]));
  for (const call of calls) {
    const name = names.get(call.id);
    if (name !== undefined) call.display_name = name || null;
  }
}

/** Bytes per trace, for the roots among the calls. */
async function addTotals(calls: StoredCall[], { engine, scope, signal }: Finish): Promise<void> {
  const roots = calls.filter(({ parent_id }) => parent_id === null);
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(scope(), p, {
      select: ["trace_id", "sum(size_bytes) AS bytes"],
      where: [p.in("trace_id", "String", [...new Set(roots.map(({ trace_id }) => trace_id))])],
      groupBy: "trace_id",
    });
    return { sql: `SELECT trace_id, sum(bytes) AS total FROM (${union}) GROUP BY trace_id`, params: p };
  };
  const rows = roots.length === 0 ? [] : await engine.rows<{ trace_id: string; total: string }>(statement, { signal });
  const totals = new Map(rows.map(({ trace_id, total }) => [trace_id, Number(total)]));
  for (const call of calls) {
    call.total_storage_size_bytes = call.parent_id === null ? (totals.get(call.trace_id) ?? 0) : null;
  }
}

async function addFeedback(calls: StoredCall[], { engine, scope, signal }: Finish): Promise<void> {
  const ids = calls.map(({ id }) => id);
  const found = await feedbackOfCalls(engine, scope().project_id, ids, signal);
  for (const call of calls) call.feedback = found.get(call.id) ?? [];
}
