import { UsageTree, usageIncludes, usageOf } from "@heddle/trace-model";
import type { UsageNode, UsageRow } from "@heddle/trace-model";
import { Parameters } from "../../engine/parameters.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";
import { usageCounts } from "../../stored-calls/call-sides.js";
import type { EndSide, StartSide } from "../../stored-calls/call-sides.js";
import type { IngestContext } from "../context.js";
import { betweenSteps } from "./between-steps.js";
import { pendingHidden } from "../memory/hidden-calls.js";
import type { IngestState } from "../memory/state.js";
import { endOfTime } from "../memory/times.js";
import type { CallLookup } from "./find-stored.js";

/** A call as it is after the commit. */
export interface SettledCall extends CallKey {
  key: string;
  start: StartSide;
  end: EndSide | undefined;
  /** It was complete before. */
  wasComplete: boolean;
}

/** A trace whose stored calls have changed in another way than by parts. */
export interface ChangedTrace {
  project_id: string;
  trace_id: string;
}

/** What calls used themselves, by key. */
export interface OwnUsage {
  /** Of those calls of the commit that may have used something else than they report. */
  own: ReadonlyMap<string, readonly UsageRow[]>;
  /** Calls whose row has another own usage than it should; those that are not in the commit have to be looked up. */
  changed: ReadonlyMap<string, { call: CallLookup; own: readonly UsageRow[] }>;
  /** Remembers it, once the commit has succeeded. */
  remember(refused: ReadonlyMap<string, string>): void;
}

interface TouchedCall {
  key: string;
  node: UsageNode;
  settled: SettledCall;
}

interface Touched extends ChangedTrace {
  calls: TouchedCall[];
  /** All of the trace has to be read. */
  whole: boolean;
}

/** A trace that memory has, or keeps from now on. */
interface Remembered extends Touched {
  tree: UsageTree;
}

/**
 * Finds out what calls used themselves: the usage columns hold that, so that reads just add up. It depends on the calls above
 * and below, which mostly are in memory, since traces arrive within a short time; else the trace is read. A call that
 * comes late, changes or is deleted changes the rows of those above it.
 */
export async function findOwnUsage(
  context: IngestContext,
  calls: readonly SettledCall[],
  changedTraces: readonly ChangedTrace[] = [],
): Promise<OwnUsage> {
  const { state, now } = context;
  const trees = state.usage;
  const own = new Map<string, readonly UsageRow[]>();
  const touched = new Map<string, Remembered>();
  for (const [key, trace] of touchedTraces(context, calls, changedTraces)) {
    const known = trees.find(key);
    if (known === undefined && isFinished(context, trace)) addOwnUsage(own, trace);
    else touched.set(key, Object.assign(trace, { tree: known ?? trees.begin(key) }));
  }
  const unread = [...touched].filter(([, trace]) => trace.whole || mustRead(context, trace));
  if (unread.length > 0) {
    const read = await readTraces(context, unread);
    for (const [key, trace] of unread) {
      trace.tree = read.get(key) ?? trace.tree;
      trees.replace(key, trace.tree);
    }
  }
  const changed = new Map<string, { call: CallLookup; own: readonly UsageRow[] }>();
  const settled: Array<{ tree: UsageTree; key: string; id: string; own: readonly UsageRow[] }> = [];
  const nowUs = now();
  await betweenSteps(calls.length);
  for (const { tree, calls: some } of touched.values()) {
    for (const { node } of some) {
      node.stored = tree.get(node.id)?.stored;
      trees.add(tree, node, nowUs);
    }
  }
  await betweenSteps(calls.length);
  for (const { project_id, tree, calls: some } of touched.values()) {
    for (const { node, own: used } of tree.settle()) {
      const call = { project_id, id: node.id, started_at: node.started_at, thorough: true };
      const key = keyText(call);
      changed.set(key, { call, own: used });
      settled.push({ tree, key, id: node.id, own: used });
    }
    for (const { key, node } of some) own.set(key, tree.own(node.id));
  }
  return {
    own,
    changed,
    remember(refused) {
      for (const { tree, key, id, own: used } of settled) if (!refused.has(key)) tree.stored(id, used);
      if (refused.size > 0) for (const call of calls) if (refused.has(call.key)) trees.forget(traceOf(call));
      trees.shrink(touched.keys());
    },
  };
}

const traceKey = ({ project_id, trace_id }: ChangedTrace): string => `${project_id}\0${trace_id}`;
const traceOf = ({ project_id, start }: SettledCall): string => `${project_id}\0${start.trace_id}`;

/** The traces of the calls, but not those of one call that has begun and ended: it used what it reports. */
function touchedTraces(
  { state }: IngestContext,
  calls: readonly SettledCall[],
  changedTraces: readonly ChangedTrace[],
): Map<string, Touched> {
  const touched = new Map<string, Touched>();
  for (const trace of changedTraces) touched.set(traceKey(trace), { ...trace, calls: [], whole: true });
  // Most traces are of one call, of which nothing has to be made.
  const single = new Map<string, SettledCall>();
  const touch = (key: string, call: SettledCall): void => {
    const trace = touched.get(key);
    if (trace !== undefined) trace.calls.push(touchedCall(call));
    else {
      const { project_id, start } = call;
      touched.set(key, { project_id, trace_id: start.trace_id, calls: [touchedCall(call)], whole: false });
    }
  };
  for (const call of calls) {
    const key = traceOf(call);
    const first = single.get(key);
    if (first === undefined && !touched.has(key)) single.set(key, call);
    else {
      if (first !== undefined) touch(key, first);
      single.delete(key);
      touch(key, call);
    }
  }
  for (const [key, call] of single) {
    const isAlone = call.start.parent_id === "" && isWhole(state, call) && state.usage.find(key) === undefined;
    if (!isAlone) touch(key, call);
  }
  return touched;
}

function touchedCall(settled: SettledCall): TouchedCall {
  const { key, id, start, end } = settled;
  const { parent_id, started_at, includes } = start;
  const reported = end?.usage ?? [];
  return { key, settled, node: { id, parent_id, started_at, includes, reported, stored: undefined } };
}

/** Whether all of a call came with this commit, as far as memory can tell. */
function isWhole({ usage }: IngestState, { start, end, wasComplete }: SettledCall): boolean {
  return end !== undefined && !wasComplete && start.started_at > usage.horizon;
}

/**
 * Whether a trace that memory does not have begins and ends with this commit: nothing of it has to be remembered. If a call
 * of it comes late all the same, its parent is known to be stored, and the trace is read.
 */
function isFinished({ state }: IngestContext, { calls, whole }: Touched): boolean {
  if (whole) return false;
  const ids = new Set(calls.map(({ node }) => node.id));
  return (
    calls.length > 0 &&
    calls.every(
      ({ node: { parent_id }, settled }) => isWhole(state, settled) && (parent_id === "" || ids.has(parent_id)),
    )
  );
}

/** Adds what the calls of a trace used themselves that is in memory nowhere else. */
function addOwnUsage(own: Map<string, readonly UsageRow[]>, { calls }: Touched): void {
  const tree = new UsageTree(undefined);
  for (const { node } of calls) tree.set(node);
  tree.settle();
  for (const { key, node } of calls) own.set(key, tree.own(node.id));
}

/** Whether calls of the trace may be stored that memory does not have, and matter. */
function mustRead({ state }: IngestContext, { project_id, tree, calls }: Remembered): boolean {
  const { since } = tree;
  if (since === undefined) return false;
  const matters = tree.reports || calls.some(({ node }) => node.reported.length > 0);
  if (tree.earliest !== undefined && tree.earliest <= since) return matters;
  let ids: ReadonlySet<string> | undefined;
  const isTouched = (id: string) => (ids ??= new Set(calls.map(({ node }) => node.id))).has(id);
  const lacks = calls.some(
    ({ node: { id, parent_id, started_at }, settled }) =>
      started_at <= since ||
      (settled.wasComplete && tree.get(id) === undefined) ||
      (parent_id !== "" &&
        tree.get(parent_id) === undefined &&
        state.known.startedAt(keyText({ project_id, id: parent_id })) !== undefined &&
        !isTouched(parent_id)),
  );
  if (lacks && !matters) tree.since = endOfTime;
  return lacks && matters;
}

interface Row {
  id: string;
  parent_id: string;
  trace_id: string;
  us: string;
  version: string;
  summary: string;
  attributes: string;
  models: string[];
  counts: string[][];
}

/** Calls of traces that are read at most. What is left out of a greater trace counts as if it did not nest. */
const maxCalls = 200_000;

/** The trees of traces as they are stored; running calls are not in them. */
async function readTraces(
  { engine, state }: IngestContext,
  traces: ReadonlyArray<readonly [key: string, trace: Touched]>,
): Promise<Map<string, UsageTree>> {
  const found = new Map<string, UsageTree>();
  for (const projectId of new Set(traces.map(([, trace]) => trace.project_id))) {
    const some = traces.filter(([, trace]) => trace.project_id === projectId);
    for (const [key] of some) found.set(key, new UsageTree(undefined));
    const p = new Parameters();
    const project = p.bind("String", projectId);
    const deleted = `SELECT id FROM ${pendingHidden(state.watermarks.compacted)} WHERE project_id = ${project} AND version = 0`;
    const notDeleted = state.hidden(projectId)?.size === 0 ? "" : ` AND id NOT IN (${deleted})`;
    const ids = some.map(([, { trace_id }]) => trace_id);
    const whole = some.some(([, trace]) => trace.whole);
    const starts = some.flatMap(([, { calls }]) => calls.map(({ node }) => node.started_at));
    const near = whole
      ? ""
      : ` AND started_at BETWEEN ${p.time(least(starts) - dayUs)} AND ${p.time(greatest(starts) + dayUs)}`;
    const sql = `SELECT id, parent_id, trace_id, toUnixTimestamp64Micro(started_at) AS us, version,
        if(exact['summary'] = '', calls.summary, exact['summary']) AS summary,
        if(position(calls.summary, '"usage"') = 0, '{}', calls.attributes) AS attributes,
        \`usage.model\` AS models, [${usageCounts.map((name) => `\`usage.${name}\``).join(", ")}] AS counts
      FROM calls WHERE project_id = ${project} AND ${p.in("trace_id", "String", ids)}${near}${notDeleted}
      ORDER BY version DESC LIMIT 1 BY id LIMIT ${maxCalls}`;
    for await (const row of engine.stream<Row>({ sql, params: p })) {
      found.get(traceKey({ project_id: projectId, trace_id: row.trace_id }))?.set(nodeOf(row));
    }
  }
  return found;
}

function nodeOf({ id, parent_id, us, summary, attributes, models, counts }: Row): UsageNode {
  return {
    id,
    parent_id,
    started_at: BigInt(us),
    includes: usageIncludes(attributes),
    reported: usageOf(summary),
    stored: models.map((model, index): UsageRow => {
      const named = usageCounts.map((name, column) => [name, Number(counts[column]?.[index] ?? 0)] as const);
      return { model, ...(Object.fromEntries(named) as Omit<UsageRow, "model">) };
    }),
  };
}

const dayUs = 86_400_000_000n;
const least = (times: readonly bigint[]) => times.reduce((a, b) => (b < a ? b : a));
const greatest = (times: readonly bigint[]) => times.reduce((a, b) => (b > a ? b : a));
