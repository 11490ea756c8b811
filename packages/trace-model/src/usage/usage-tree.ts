import { ownUsage, sumByModel } from "./own-usage.js";
import type { UsageReport } from "./own-usage.js";
import type { UsageRow } from "./usage.js";

/** What is known of one call of a trace. `reported` is empty while the call runs. */
export interface UsageNode extends UsageReport {
  id: string;
  parent_id: string;
  /** Microseconds since 1970. */
  started_at: bigint;
  /** What its stored row has as its own usage; undefined where it has no row. */
  stored: readonly UsageRow[] | undefined;
}

interface Node extends UsageNode {
  /** Own usage, and that of the calls below with it, by model; undefined when it has to be computed. */
  own: readonly UsageRow[] | undefined;
  total: ReadonlyMap<string, UsageRow> | undefined;
}

/** The calls of one trace, and what each of them used itself. It is computed again where a call at or below it changed. */
export class UsageTree {
  readonly #nodes = new Map<string, Node>();
  /** By the id of the parent; made with the first child. */
  #children: Map<string, Node[]> | undefined;
  /** Calls with usage whose own usage has to be computed. */
  readonly #changed = new Set<Node>();

  /** Whether a call of it ever reported usage. */
  reports = false;
  /** The earliest start of a call that is or was here. */
  earliest: bigint | undefined;
  #bytes = 0;

  /** Calls that started later are here if they are stored; undefined where all of the trace are. */
  constructor(public since: bigint | undefined) {}

  get size(): number {
    return this.#nodes.size;
  }

  /** About the memory that it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  get(id: string): Readonly<UsageNode> | undefined {
    return this.#nodes.get(id);
  }

  values(): Iterable<Readonly<UsageNode>> {
    return this.#nodes.values();
  }

  set(call: UsageNode): void {
    this.reports ||= call.reported.length > 0;
    if (this.earliest === undefined || call.started_at < this.earliest) this.earliest = call.started_at;
    const known = this.#nodes.get(call.id);
    if (known !== undefined && known.parent_id === call.parent_id) {
      this.#changed.delete(known);
      this.#bytes -= bytesOf(known);
      Object.assign(known, call);
      this.#bytes += bytesOf(known);
      this.#outdate(known);
      return;
    }
    this.delete(call.id);
    const node: Node = { ...call, own: undefined, total: undefined };
    this.#nodes.set(node.id, node);
    this.#bytes += bytesOf(node);
    if (node.parent_id !== "") {
      this.#children ??= new Map();
      const siblings = this.#children.get(node.parent_id);
      if (siblings === undefined) this.#children.set(node.parent_id, [node]);
      else siblings.push(node);
    }
    this.#outdate(node);
  }

  delete(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#nodes.delete(id);
    this.#bytes -= bytesOf(node);
    this.#setTotal(node, undefined);
    this.#changed.delete(node);
    const siblings = this.#children?.get(node.parent_id);
    siblings?.splice(siblings.indexOf(node), 1);
    if (siblings?.length === 0) this.#children?.delete(node.parent_id);
    const parent = this.#nodes.get(node.parent_id);
    if (parent !== undefined) this.#outdate(parent);
  }

  /** Computes what changed, and returns the calls with another own usage than their row has. */
  settle(): Array<{ node: Readonly<UsageNode>; own: readonly UsageRow[] }> {
    const different: Array<{ node: Readonly<UsageNode>; own: readonly UsageRow[] }> = [];
    for (const node of this.#changed) {
      this.#compute(node);
      const own = node.own ?? node.reported;
      if (!sameUsage(own, node.stored)) different.push({ node, own });
    }
    this.#changed.clear();
    return different;
  }

  /** What a call used itself, as of the last {@link settle}. */
  own(id: string): readonly UsageRow[] {
    const node = this.#nodes.get(id);
    return node?.own ?? node?.reported ?? [];
  }

  /** Records what the row of a call has now. */
  stored(id: string, own: readonly UsageRow[]): void {
    const node = this.#nodes.get(id);
    if (node !== undefined) node.stored = own;
  }

  #outdate(changed: Node): void {
    let node: Node | undefined = changed;
    let first = true;
    while (node !== undefined && (first || node.total !== undefined)) {
      node.own = undefined;
      this.#setTotal(node, undefined);
      if (node.reported.length > 0) this.#changed.add(node);
      node = this.#nodes.get(node.parent_id);
      first = false;
    }
  }

  /** Children first; parents that form a circle keep what they report. */
  #compute(root: Node): void {
    if (this.#children?.has(root.id) !== true) {
      root.own = root.reported;
      this.#setTotal(root, byModel(root.own));
      return;
    }
    const waiting: Node[] = [root];
    const entered = new Set<Node>();
    for (let node = waiting.at(-1); node !== undefined; node = waiting.at(-1)) {
      const children = this.#children?.get(node.id) ?? noChildren;
      if (!entered.has(node)) {
        entered.add(node);
        for (const child of children) if (child.total === undefined && !entered.has(child)) waiting.push(child);
        if (waiting.at(-1) !== node) continue;
      }
      waiting.pop();
      if (node.total !== undefined) continue;
      const below = new Map<string, UsageRow>();
      for (const child of children) if (child.total !== undefined) sumByModel(below, child.total.values(), mostModels);
      node.own = ownUsage(node, children, below);
      sumByModel(below, node.own, mostModels);
      this.#setTotal(node, below);
    }
  }

  #setTotal(node: Node, total: ReadonlyMap<string, UsageRow> | undefined): void {
    this.#bytes += ((total?.size ?? 0) - (node.total?.size ?? 0)) * totalBytes;
    node.total = total;
  }
}

/**
 * Models that are added up of what is below a call: those of a long chain of calls would take memory by the square of its length.
 * What a call reports of a further model counts as used by the call itself.
 */
const mostModels = 64;

/** About the memory of a node without its texts, of a row that is reported and stored, and of one in a total. */
const [nodeBytes, rowBytes, totalBytes] = [300, 240, 100];

function bytesOf({ id, parent_id, reported }: Node): number {
  const rows = reported.reduce((sum, { model }) => sum + rowBytes + model.length, 0);
  return nodeBytes + id.length + parent_id.length + rows;
}

const noChildren: readonly Node[] = [];

function byModel(rows: readonly UsageRow[]): Map<string, UsageRow> {
  const found = new Map<string, UsageRow>();
  sumByModel(found, rows, mostModels);
  return found;
}

/** Whether two lists of rows are equal. */
export function sameUsage(a: readonly UsageRow[], b: readonly UsageRow[] | undefined): boolean {
  if (a === b) return true;
  return (
    a.length === b?.length &&
    a.every((row, index) => {
      const other = b[index];
      return other !== undefined && columns.every((name) => row[name] === other[name]);
    })
  );
}

const columns = [
  "model",
  "requests",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "cache_read_tokens",
  "cache_creation_tokens",
] as const;
