import { mainThread } from "@heddle/concurrency";

/** The calls of a trace by their start: what their order depends on. */
export interface TraceTree {
  ids: readonly string[];
  /** '' for a root. */
  parentIds: readonly string[];
}

export interface OrderOptions {
  /** Only this call and what is below it, or what is below this id where the call itself is missing. */
  rootId?: string | undefined;
  /** How many levels; 1 is only the top. */
  maxDepth?: number | undefined;
  limit: number;
  /** Parents that exist although they are not among the calls: what is below them is left out. */
  unread?: ReadonlySet<string>;
}

/** Positions of calls, depth-first, siblings by their start. All lists are about the same calls. */
export interface TraceOrder {
  calls: number[];
  /** Where the parent is in this order; -1 at the top and below a missing parent. */
  parent: number[];
  /** How many children each has, be they in the order or not. */
  children: number[];
  /** Parents that no call is, with the place of their first child in this order; the others follow it. */
  missing: Array<{ id: string; first: number; children: number }>;
  /** How many calls the order has without `maxDepth` and `limit`. */
  total: number;
  /** Calls that are above themselves. Each circle is cut above its first call, which is then at the top. */
  cycles: number;
}

/** After so many calls others may work. */
const slice = 4096;
const none = -1;

/** Puts the calls of a trace into the order in which a tree shows them. Ids are unique. */
export async function orderTrace(tree: TraceTree, options: OrderOptions): Promise<TraceOrder> {
  const lists = await linkTrace(tree, options.unread);
  return await walk(tree, lists, options);
}

/** Lists of siblings: calls by their positions, and behind them the parents that are missing. */
interface Lists {
  missingIds: string[];
  /** By parent. */
  first: Int32Array;
  count: Int32Array;
  /** By child. */
  next: Int32Array;
  /** The first at the top. */
  top: number;
  /** By id. */
  index: ReadonlyMap<string, number>;
  cycles: number;
}

async function linkTrace({ ids, parentIds }: TraceTree, unread: ReadonlySet<string> = new Set()): Promise<Lists> {
  const size = ids.length;
  const index = new Map<string, number>();
  for (const [at, id] of ids.entries()) {
    if (at % slice === slice - 1) await mainThread.giveWay();
    index.set(id, at);
  }
  const parents = new Int32Array(size).fill(none);
  const missingIds: string[] = [];
  for (const [at, parentId] of parentIds.entries()) {
    if (at % slice === slice - 1) await mainThread.giveWay();
    if (parentId === "") continue;
    let parent = index.get(parentId);
    if (parent === undefined) {
      parent = size + missingIds.push(parentId) - 1;
      index.set(parentId, parent);
    }
    parents[at] = parent;
  }
  const cycles = await cutCycles(parents);
  const all = size + missingIds.length;
  const [first, last, next] = [0, 1, 2].map(() => new Int32Array(all + 1).fill(none)) as [
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  const count = new Int32Array(all + 1);
  const append = (parent: number, child: number) => {
    const before = last[parent] ?? none;
    if (before === none) first[parent] = child;
    else next[before] = child;
    last[parent] = child;
    count[parent] = (count[parent] ?? 0) + 1;
  };
  for (let at = 0; at < size; at++) {
    if (at % slice === slice - 1) await mainThread.giveWay();
    const parent = parents[at] ?? none;
    // A missing parent is where its first child would be.
    const isFirst = parent >= size && first[parent] === none;
    if (isFirst && !unread.has(missingIds[parent - size] ?? "")) append(all, parent);
    append(parent === none ? all : parent, at);
  }
  return { missingIds, first, count, next, top: first[all] ?? none, index, cycles };
}

/** Takes the parent from one call of each circle, the one that comes first; returns how many there were. */
async function cutCycles(parents: Int32Array): Promise<number> {
  /** The walk in which a call was met; 0 = none yet. */
  const met = new Int32Array(parents.length);
  let cycles = 0;
  let steps = 0;
  for (let from = 0; from < parents.length; from++) {
    let at = from;
    while (at >= 0 && at < parents.length && met[at] === 0) {
      met[at] = from + 1;
      at = parents[at] ?? none;
      if (++steps % slice === 0) await mainThread.giveWay();
    }
    if (at < 0 || at >= parents.length || met[at] !== from + 1) continue;
    // The walk has come back to itself: `at` is on a circle.
    let earliest = at;
    for (let on = parents[at] ?? at; on !== at; on = parents[on] ?? at) if (on < earliest) earliest = on;
    parents[earliest] = none;
    cycles++;
  }
  return cycles;
}

async function walk({ ids }: TraceTree, lists: Lists, options: OrderOptions): Promise<TraceOrder> {
  const { rootId, maxDepth = Number.POSITIVE_INFINITY, limit } = options;
  const { missingIds, first, count, next, top, index, cycles } = lists;
  const order: TraceOrder = { calls: [], parent: [], children: [], missing: [], total: 0, cycles };
  const size = ids.length;
  /** The calls from the top down to the one at hand, with their places in the order. */
  const path: Array<{ call: number; place: number }> = [];
  let call = rootId === undefined ? top : (index.get(rootId) ?? none);
  let steps = 0;
  while (call !== none) {
    if (++steps % slice === 0) await mainThread.giveWay();
    let place = none;
    if (call >= size) {
      const isShown = order.calls.length < limit;
      const [id = "", children = 0] = [missingIds[call - size], count[call]];
      if (isShown) order.missing.push({ id, first: order.calls.length, children });
    } else {
      order.total++;
      if (depthOf(path, size) < maxDepth && order.calls.length < limit) {
        place = order.calls.length;
        order.calls.push(call);
        order.parent.push(path.at(-1)?.place ?? none);
        order.children.push(count[call] ?? 0);
      }
    }
    const below = first[call] ?? none;
    if (below !== none) {
      path.push({ call, place });
      call = below;
      continue;
    }
    let after = path.length === 0 && rootId !== undefined ? none : (next[call] ?? none);
    while (after === none && path.length > 0) {
      const { call: above } = path.pop() ?? { call: none };
      after = path.length === 0 && rootId !== undefined ? none : (next[above] ?? none);
    }
    call = after;
  }
  return order;
}

/** How many calls are above; a missing parent, which is always at the top, is none. */
function depthOf(path: ReadonlyArray<{ call: number }>, size: number): number {
  return path.length - (path[0] !== undefined && path[0].call >= size ? 1 : 0);
}
