import { UsageTree } from "@heddle/trace-model";
import type { UsageNode } from "@heddle/trace-model";
import { copyRow, copyText } from "../../stored-calls/call-sides.js";

/**
 * The traces whose calls came last, so that most own usage is known without reading. Bounded by the number of calls: whole
 * traces are forgotten, the one that was used longest ago first.
 */
export class UsageTrees {
  readonly #trees = new Map<string, UsageTree>();
  readonly #limit: number;
  /** Calls, and one for each trace. */
  #size = 0;
  /** Calls that started later are here if they are stored. */
  #horizon: bigint;
  /** The latest start of a call that is or was here, as far as its clock can be right. */
  #newest: bigint;

  constructor(limit: number, horizon: bigint) {
    this.#limit = limit;
    this.#horizon = horizon;
    this.#newest = horizon;
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
    return known;
  }

  /** The tree of a trace that is not here. */
  begin(key: string): UsageTree {
    const tree = new UsageTree(this.#horizon);
    this.#trees.set(key, tree);
    this.#size++;
    return tree;
  }

  /** Puts another tree in the place of that of a trace. */
  replace(key: string, tree: UsageTree): void {
    const before = this.find(key) ?? this.begin(key);
    this.#size += tree.size - before.size;
    this.#trees.set(key, tree);
  }

  /** Adds a call to the tree of its trace. */
  add(tree: UsageTree, call: UsageNode, now: bigint): void {
    const before = tree.size;
    const { id, parent_id, reported } = call;
    tree.set({ ...call, id: copyText(id), parent_id: copyText(parent_id), reported: reported.map(copyRow) });
    this.#size += tree.size - before;
    if (call.started_at > this.#newest && call.started_at <= now + clockErrorUs) this.#newest = call.started_at;
  }

  /** What is known of a trace is wrong: its next use reads it. */
  forget(key: string): void {
    this.replace(key, new UsageTree(endOfTime));
  }

  forgetAll(): void {
    this.#trees.clear();
    this.#size = 0;
    this.#horizon = this.#newest;
  }

  /** Forgets traces until the limit holds. Between commits only: a commit works with what it has asked for. */
  shrink(): void {
    for (const [key, tree] of this.#trees) {
      if (this.#size <= this.#limit) return;
      this.#trees.delete(key);
      this.#size -= tree.size + 1;
      for (const { started_at } of tree.values()) {
        if (started_at > this.#horizon && started_at <= this.#newest) this.#horizon = started_at;
      }
    }
  }
}

/** A start that is further ahead of now is an error, and says nothing about other calls. */
export const clockErrorUs = 3_600_000_000n;
/** Whatever started before this may be stored. */
export const endOfTime = 2n ** 63n;
