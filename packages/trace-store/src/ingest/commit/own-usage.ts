import { UsageTree, usageIncludes, usageOf } from "@heddle/trace-model";
import type { UsageNode, UsageRow } from "@heddle/trace-model";
import { Parameters } from "../../engine/parameters.js";
import { keyText } from "../../stored-calls/call-key.js";
import { copyText, usageCounts } from "../../stored-calls/call-sides.js";
import type { EndSide, StartSide } from "../../stored-calls/call-sides.js";
import type { IngestContext } from "../context.js";
import type { UsageTrees } from "../memory/usage-trees.js";
import type { CallLookup } from "./find-stored.js";

/** A call as it is after the commit. */
export interface SettledCall {
  project_id: string;
  id: string;
  start: StartSide;
  end: EndSide | undefined;
}

/** A trace whose stored calls have changed in another way than by parts. */
export interface ChangedTrace {
  project_id: string;
  trace_id: string;
}

/** What calls used themselves, by key. */
export interface OwnUsage {
  /** Of the calls of the commit. */
  own: ReadonlyMap<string, readonly UsageRow[]>;
  /** Calls whose row has another own usage than it should; those that are not in the commit have to be looked up. */
  changed: ReadonlyMap<string, { call: CallLookup; own: readonly UsageRow[] }>;
  /** Remembers it, once the commit has succeeded. */
  remember(refused: ReadonlyMap<string, string>): void;
}

interface Touched extends ChangedTrace {
  tree: UsageTree;
  nodes: Array<{ key: string; node: UsageNode }>;
  /** All of the trace has to be read. */
  whole: boolean;
}

/**
 * Finds out what calls used themselves: the usage columns hold that, so that reads just add up. It depends on the calls above
 * and below, which mostly are in memory, since traces arrive within a short time; else the trace is read. A call that
 * comes late, changes or is deleted changes the rows of those above it.
 */
export async function findOwnUsage(
  context: IngestContext,
  calls: ReadonlyMap<string, SettledCall>,
  changedTraces: readonly ChangedTrace[] = [],
): Promise<OwnUsage> {
  const { state, now } = context;
  const trees = state.usage;
  const touched = touchedTraces(trees, calls, changedTraces);
  const unread = [...touched].filter(([, trace]) => trace.whole || mustRead(context, trace));
  if (unread.length > 0) {
    const read = await readTraces(context, unread);
    for (const [key, trace] of unread) {
      trace.tree = read.get(key) ?? trace.tree;
      trees.replace(key, trace.tree);
    }
  }
  const own = new Map<string, readonly UsageRow[]>();
  const changed = new Map<string, { call: CallLookup; own: readonly UsageRow[] }>();
  const settled: Array<{ tree: UsageTree; key: string; id: string; own: readonly UsageRow[] }> = [];
  const nowUs = now();
  for (const { project_id, tree, nodes } of touched.values()) {
    for (const { node } of nodes) {
      node.stored = tree.get(node.id)?.stored;
      trees.add(tree, node, nowUs);
    }
    for (const { node, own: used } of tree.settle()) {
      const call = { project_id, id: node.id, started_at: node.started_at, thorough: true };
      const key = keyText(call);
      changed.set(key, { call, own: used });
      settled.push({ tree, key, id: node.id, own: used });
    }
    for (const { key, node } of nodes) own.set(key, tree.own(node.id));
  }
  return {
    own,
    changed,
    remember(refused) {
      for (const { tree, key, id, own: used } of settled) if (!refused.has(key)) tree.stored(id, used);
      for (const [key, call] of calls) {
        if (refused.has(key)) trees.forget(traceKey({ ...call, trace_id: call.start.trace_id }));
      }
      trees.shrink();
    },
  };
}

const traceKey = ({ project_id, trace_id }: ChangedTrace): string => `${project_id}\0${trace_id}`;

function touchedTraces(
  trees: UsageTrees,
  calls: ReadonlyMap<string, SettledCall>,
  changedTraces: readonly ChangedTrace[],
): Map<string, Touched> {
  const touched = new Map<string, Touched>();
  const touch = (trace: ChangedTrace, whole: boolean): Touched => {
    const key = traceKey(trace);
    const known = touched.get(key);
    if (known !== undefined) return known;
    const { project_id, trace_id } = trace;
    const added = { project_id, trace_id, tree: trees.tree(key), nodes: [], whole };
    touched.set(key, added);
    return added;
  };
  for (const trace of changedTraces) touch(trace, true);
  for (const [key, { project_id, id, start, end }] of calls) {
    const { trace_id, parent_id, started_at, includes } = start;
    const node: UsageNode = {
      id: copyText(id),
      parent_id: copyText(parent_id),
      started_at,
      includes,
      reported: end?.usage ?? [],
      stored: undefined,
    };
    touch({ project_id, trace_id }, false).nodes.push({ key, node });
  }
  return touched;
}

/** Whether calls of the trace may be stored that memory does not have, and matter. */
function mustRead({ state }: IngestContext, { project_id, tree, nodes }: Touched): boolean {
  const { since } = tree;
  if (since === undefined) return false;
  if (!tree.reports && nodes.every(({ node }) => node.reported.length === 0)) return false;
  if (tree.earliest !== undefined && tree.earliest <= since) return true;
  let ids: ReadonlySet<string> | undefined;
  const isTouched = (id: string) => (ids ??= new Set(nodes.map(({ node }) => node.id))).has(id);
  return nodes.some(
    ({ node: { parent_id, started_at } }) =>
      started_at <= since ||
      (parent_id !== "" &&
        tree.get(parent_id) === undefined &&
        state.known.startedAt(keyText({ project_id, id: parent_id })) !== undefined &&
        !isTouched(parent_id)),
  );
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
    const ids = some.map(([, { trace_id }]) => trace_id);
    const whole = some.some(([, trace]) => trace.whole);
    const starts = some.flatMap(([, { nodes }]) => nodes.map(({ node }) => node.started_at));
    const near = whole
      ? ""
      : ` AND started_at BETWEEN ${p.time(least(starts) - dayUs)} AND ${p.time(greatest(starts) + dayUs)}`;
    const sql = `SELECT id, parent_id, trace_id, toUnixTimestamp64Micro(started_at) AS us, version,
        if(exact['summary'] = '', calls.summary, exact['summary']) AS summary,
        if(position(calls.summary, '"usage"') = 0, '{}', calls.attributes) AS attributes,
        \`usage.model\` AS models, [${usageCounts.map((name) => `\`usage.${name}\``).join(", ")}] AS counts
      FROM calls WHERE project_id = ${p.bind("String", projectId)} AND ${p.in("trace_id", "String", ids)}${near}
      ORDER BY version DESC LIMIT 1 BY id LIMIT ${maxCalls}`;
    for await (const row of engine.stream<Row>({ sql, params: p })) {
      if (state.deleted.has(keyText({ project_id: projectId, id: row.id }))) continue;
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
