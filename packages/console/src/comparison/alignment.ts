import type { Outline } from "../call/outline.js";
import { matched } from "./matched.js";
import type { Match } from "./matched.js";

/** A tree of calls, and the one among those at its top that is compared. */
export interface Side {
  outline: Outline;
  /** Id of the call. */
  root: string;
}

/** In what two calls differ; `there`: one of them is not there. */
const differences = ["there", "status", "inputs", "output", "tokens"] as const;
type Difference = (typeof differences)[number];

/** What the reader closed, by keys of rows. */
export type Closed = ReadonlySet<string>;

/** Two traces as one tree: calls of one name at one place are one row. In lists with a value for each row, depth first. */
export class Alignment {
  readonly before: Outline;
  readonly after: Outline;
  /** Index of the call of each row in its outline; -1 where there is none. */
  readonly a: Int32Array;
  readonly b: Int32Array;
  readonly depth: Int32Array;
  /** The row after the last one below each. */
  readonly end: Int32Array;
  /** Rows with a difference below each, itself not included. */
  readonly below: Int32Array;
  readonly counts = { added: 0, removed: 0, changed: 0 };
  /** Bits of {@link differences}. */
  readonly #differs: Uint8Array;
  /** Rows at which a reader stops on the way through the differences: of calls without a partner not those below others. */
  readonly #stops: Uint8Array;
  readonly #rowOfA: Int32Array;
  readonly #rowOfB: Int32Array;

  constructor(before: Side, after: Side) {
    this.before = before.outline;
    this.after = after.outline;
    const { a, b, depth } = align(before, after);
    this.a = Int32Array.from(a);
    this.b = Int32Array.from(b);
    this.depth = Int32Array.from(depth);
    this.end = endsOf(this.depth);
    this.below = new Int32Array(a.length);
    this.#differs = new Uint8Array(a.length);
    this.#stops = new Uint8Array(a.length);
    this.#rowOfA = rowsOf(this.a, before.outline.length);
    this.#rowOfB = rowsOf(this.b, after.outline.length);
    /** Rows that the one looked at is below. */
    const above: number[] = [];
    for (let row = 0; row < a.length; row++) {
      above.length = this.depth[row] ?? 0;
      const differs = this.#differences(row);
      this.#differs[row] = differs;
      if (differs !== 0) {
        this.#count(row);
        for (const each of above) this.below[each] = (this.below[each] ?? 0) + 1;
        const parent = above.at(-1);
        const isBelowOne = parent !== undefined && this.isOne(parent);
        this.#stops[row] = isBelowOne ? 0 : 1;
      }
      above.push(row);
    }
  }

  get length(): number {
    return this.a.length;
  }

  /** Whether the call has no partner. */
  isOne(row: number): boolean {
    return this.a[row] === -1 || this.b[row] === -1;
  }

  differsIn(row: number, by: Difference): boolean {
    return ((this.#differs[row] ?? 0) & (1 << differences.indexOf(by))) !== 0;
  }

  name(row: number): string {
    const [a, b] = [this.a[row] ?? -1, this.b[row] ?? -1];
    return a < 0 ? this.after.name(b) : this.before.name(a);
  }

  /** What names a row in an address. */
  key(row: number): string {
    const [a, b] = [this.a[row] ?? -1, this.b[row] ?? -1];
    return a < 0 ? `b ${this.after.id(b)}` : `a ${this.before.id(a)}`;
  }

  /** -1 for what is not a key of a row. */
  rowOf(key: string): number {
    const id = key.slice(2);
    if (key.startsWith("a ")) return this.#rowOfA[this.before.indexOf(id)] ?? -1;
    return key.startsWith("b ") ? (this.#rowOfB[this.after.indexOf(id)] ?? -1) : -1;
  }

  /** The row above; -1 at the top. */
  parent(row: number): number {
    const depth = this.depth[row] ?? 0;
    let above = depth === 0 ? -1 : row - 1;
    while (above >= 0 && (this.depth[above] ?? 0) >= depth) above--;
    return above;
  }

  /** The rows that can be seen: those of closed ones not, and of all only those with differences and above them, if asked for. */
  rows(closed: Closed, only: boolean): number[] {
    const rows: number[] = [];
    for (let row = 0; row < this.length;) {
      const end = this.end[row] ?? row + 1;
      if (only && this.#differs[row] === 0 && this.below[row] === 0) {
        row = end;
        continue;
      }
      rows.push(row);
      row = closed.size > 0 && closed.has(this.key(row)) ? end : row + 1;
    }
    return rows;
  }

  /** The same, with everything open that hides a row. The same object, where nothing does. */
  reveal(row: number, closed: Closed): Closed {
    if (closed.size === 0 || row < 0) return closed;
    const hiding: string[] = [];
    for (let above = this.parent(row); above >= 0; above = this.parent(above))
      if (closed.has(this.key(above))) hiding.push(this.key(above));
    return hiding.length === 0 ? closed : new Set([...closed].filter((key) => !hiding.includes(key)));
  }

  /** The next difference after a row, or before it; -1 without one. */
  next(from: number, step: 1 | -1): number {
    for (let row = from + step; row >= 0 && row < this.length; row += step) if (this.#stops[row] === 1) return row;
    return -1;
  }

  #differences(row: number): number {
    const [a, b] = [this.a[row] ?? -1, this.b[row] ?? -1];
    if (a < 0 || b < 0) return 1;
    const [before, after] = [this.before.data, this.after.data];
    const differ = [
      false,
      before.status[a] !== after.status[b],
      before.input_digest?.[a] !== after.input_digest?.[b],
      before.output_digest?.[a] !== after.output_digest?.[b],
      before.tokens[a] !== after.tokens[b],
    ];
    return differ.reduce((bits, differs, bit) => bits | (differs ? 1 << bit : 0), 0);
  }

  #count(row: number): void {
    if (this.a[row] === -1) this.counts.added++;
    else if (this.b[row] === -1) this.counts.removed++;
    else this.counts.changed++;
  }
}

/** Both trees level by level, without a call of this function for each: traces can be deep. */
function align(before: Side, after: Side): { a: number[]; b: number[]; depth: number[] } {
  const [a, b, depth]: [number[], number[], number[]] = [[], [], []];
  const waiting: { match: Match; depth: number }[] = [];
  const add = (matches: readonly Match[], level: number) => {
    for (let index = matches.length - 1; index >= 0; index--) {
      const match = matches[index];
      if (match !== undefined) waiting.push({ match, depth: level });
    }
  };
  add(matchTops(before, after), 0);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [left, right] = next.match;
    a.push(left);
    b.push(right);
    depth.push(next.depth);
    const lists = [childrenOf(before.outline, left), childrenOf(after.outline, right)] as const;
    add(matchCalls(before.outline, after.outline, ...lists), next.depth + 1);
  }
  return { a, b, depth };
}

/** The calls that are compared are partners, whatever their names are. */
function matchTops(before: Side, after: Side): Match[] {
  const [left, right] = [before, after].map(({ outline, root }) => {
    const tops = childrenFrom(outline, 0, outline.length);
    const at = tops.indexOf(outline.indexOf(root));
    return { tops, at };
  });
  if (left === undefined || right === undefined) return [];
  if (left.at < 0 || right.at < 0) return matchCalls(before.outline, after.outline, left.tops, right.tops);
  return [
    ...matchCalls(before.outline, after.outline, left.tops.slice(0, left.at), right.tops.slice(0, right.at)),
    [left.tops[left.at] ?? -1, right.tops[right.at] ?? -1],
    ...matchCalls(before.outline, after.outline, left.tops.slice(left.at + 1), right.tops.slice(right.at + 1)),
  ];
}

function matchCalls(before: Outline, after: Outline, left: readonly number[], right: readonly number[]): Match[] {
  if (left.length === 0) return right.map((call): Match => [-1, call]);
  if (right.length === 0) return left.map((call): Match => [call, -1]);
  const [names, others] = [left.map((call) => before.name(call)), right.map((call) => after.name(call))];
  return matched(names, others).map(([a, b]): Match => [left[a] ?? -1, right[b] ?? -1]);
}

const childrenOf = (outline: Outline, call: number): number[] =>
  call < 0 ? [] : childrenFrom(outline, call + 1, outline.end[call] ?? call + 1);

function childrenFrom(outline: Outline, from: number, to: number): number[] {
  const calls: number[] = [];
  for (let call = from; call < to; call = outline.end[call] ?? to) calls.push(call);
  return calls;
}

function endsOf(depth: Int32Array): Int32Array {
  const end = new Int32Array(depth.length);
  const above: number[] = [];
  for (let row = 0; row < depth.length; row++) {
    while (above.length > (depth[row] ?? 0)) end[above.pop() ?? 0] = row;
    above.push(row);
  }
  for (const row of above) end[row] = depth.length;
  return end;
}

function rowsOf(calls: Int32Array, count: number): Int32Array {
  const rows = new Int32Array(count).fill(-1);
  for (let row = 0; row < calls.length; row++) {
    const call = calls[row] ?? -1;
    if (call >= 0) rows[call] = row;
  }
  return rows;
}
