import { clockErrorUs, endOfTime } from "./times.js";
import { UsageTree } from "@heddle/trace-model";
import type { UsageNode } from "@heddle/trace-model";
import { copyRow, copyText } from "../../stored-calls/call-sides.js";

/**
 * The traces whose calls came last, so that most own usage is known without reading. Bounded by bytes: whole
 * traces are forgotten, the one that was used longest ago first, and read when they are needed.
 */
export class UsageTrees {
  /** With the bytes of each when it was last measured. */
  readonly #trees = new Map<string, { tree: UsageTree; bytes: number }>();
  readonly #limit: number;
  #bytes = 0;
  /** Calls that started later are here if they are stored. */
  #horizon: bigint;
  /** The latest start of a call that is or was here, as far as its clock can be right. */
  #newest: bigint;

  constructor(limitBytes: number, horizon: bigint) {
    this.#limit = limitBytes;
    this.#horizon = horizon;
    this.#newest = horizon;
  }

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What started later is here if it is stored, or is of a trace that began and ended in one commit. */
  get horizon(): bigint {
    return this.#horizon;
  }

  /** The tree of a trace, which may know nothing of its calls that started before `since`. */
  find(key: string): UsageTree | undefined {
    const known = this.#trees.get(key);
    if (known === undefined) return undefined;
    // In the order of their last use.
    this.#trees.delete(key);
    this.#trees.set(key, known);
    return known.tree;
  }

  /** The tree of a trace that is not here. */
  begin(key: string): UsageTree {
    const tree = new UsageTree(this.#horizon);
    this.#keep(key, tree);
    return tree;
  }

  /** Puts another tree in the place of that of a trace. */
  replace(key: string, tree: UsageTree): void {
    this.#drop(key);
    this.#keep(key, tree);
  }

  /** Adds a call to the tree of its trace. */
  add(tree: UsageTree, call: UsageNode, now: bigint): void {
    const { id, parent_id, reported } = call;
    tree.set({ ...call, id: copyText(id), parent_id: copyText(parent_id), reported: reported.map(copyRow) });
    if (call.started_at > this.#newest && call.started_at <= now + clockErrorUs) this.#newest = call.started_at;
  }

  /** What is known of a trace is wrong: its next use reads it. */
  forget(key: string): void {
    this.replace(key, new UsageTree(endOfTime));
  }

  forgetAll(): void {
    this.#trees.clear();
    this.#bytes = 0;
    this.#horizon = this.#newest;
  }

  /**
   * Measures the traces that a commit has touched, and forgets some until the limit holds. After the commit only: it works with
   * what it has asked for.
   */
  shrink(touched: Iterable<string>): void {
    for (const key of touched) {
      const known = this.#trees.get(key);
      if (known === undefined) continue;
      const bytes = bytesOf(key, known.tree);
      this.#bytes += bytes - known.bytes;
      known.bytes = bytes;
    }
    for (const [key, { tree }] of this.#trees) {
      if (this.#bytes <= this.#limit) return;
      this.#drop(key);
      for (const { started_at } of tree.values()) {
        if (started_at > this.#horizon && started_at <= this.#newest) this.#horizon = started_at;
      }
    }
  }

  #keep(key: string, tree: UsageTree): void {
    const bytes = bytesOf(key, tree);
    this.#trees.set(key, { tree, bytes });
    this.#bytes += bytes;
  }

  #drop(key: string): void {
    this.#bytes -= this.#trees.get(key)?.bytes ?? 0;
    this.#trees.delete(key);
  }
}

/** About the memory of a trace without its calls and its key. */
const traceBytes = 300;
const bytesOf = (key: string, tree: UsageTree): number => traceBytes + key.length + tree.bytes;
