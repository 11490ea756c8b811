import type { TraceOutlineRes } from "@heddle/client/tracing";

/** A row of the tree of a trace. */
export type OutlineRow =
  | { kind: "call"; index: number; depth: number; isParent: boolean; isOpen: boolean }
  /** A call that others name as their parent and that is not there. */
  | { kind: "missing"; id: string; index: number; depth: number; children: number; isOpen: boolean }
  /** Neighbours of one name, as one row. */
  | { kind: "fold"; index: number; depth: number; count: number; isOpen: boolean }
  /** Further calls may be below a call, a missing parent or, with an empty id, at the top, and are not read. */
  | { kind: "more"; id: string; index: number; depth: number; isOpen: boolean };

/** What a trace that is not read whole lacks: calls that started from here on, microseconds since 1970. */
interface Cut {
  from: number;
  /** Below these, all were read. */
  whole: ReadonlySet<string>;
}

/** A row that is not a call, by what remains the same while the trace grows; a call has its id. */
export function keyOfRow(outline: Outline, row: OutlineRow): string {
  return "id" in row ? `${row.kind} ${row.id}` : `${row.kind} ${outline.id(row.index)}`;
}

const mostFound = 10_000;
/** Neighbours of one name that are folded. */
const foldedFrom = 20;

/** What the reader opened and closed, by ids of calls. */
export interface Folding {
  /** Calls and missing parents whose children are hidden. */
  closed: ReadonlySet<string>;
  /** Runs of one name that are shown one by one, by the id of the first. */
  unfolded: ReadonlySet<string>;
}

/** Neighbours of one name, and the index after the last call below them. */
interface Run {
  name: number;
  first: number;
  count: number;
  end: number;
}

/** In microseconds, as the times of the trace. */
interface RunTimes {
  from: number;
  to: number;
  /** Whether one has not ended. */
  isRunning: boolean;
}

/** The tree of a trace, in lists that have a value for each call, depth first. */
export class Outline {
  readonly data: TraceOutlineRes;
  /** How deep each call is. */
  readonly depth: Int32Array;
  /** Index after the last call below each call. */
  readonly end: Int32Array;
  readonly #places: Map<string, number>;
  /** Missing parents by the index of their first child, with the index after the last call below them. */
  readonly #missing = new Map<number, { id: string; children: number; end: number }>();
  /** Runs that are folded, by the index of their first call. */
  readonly #runs: Map<number, Run>;
  /** The same below each call, in their order. */
  readonly #runsBelow = new Map<number, Run[]>();
  readonly #times = new Map<number, RunTimes>();
  readonly #cut: Cut | undefined;

  constructor(data: TraceOutlineRes, cut?: Cut) {
    this.data = data;
    this.#cut = data.ids.length < data.total ? cut : undefined;
    const { ids, parent, missing_parents } = data;
    this.#places = new Map(ids.map((id, index) => [id, index]));
    this.depth = new Int32Array(ids.length);
    this.end = new Int32Array(ids.length);
    this.#end(parent);
    for (const { id, first, children } of missing_parents) {
      let end = first;
      for (let child = 0; child < children && end < ids.length; child++) end = this.end[end] ?? ids.length;
      this.#missing.set(first, { id, children, end });
      for (let index = first; index < end; index++) this.depth[index] = (this.depth[index] ?? 0) + 1;
    }
    this.#runs = this.#findRuns();
    for (const run of this.#runs.values()) {
      const parentOf = this.parent(run.first);
      const others = this.#runsBelow.get(parentOf);
      if (others === undefined) this.#runsBelow.set(parentOf, [run]);
      else others.push(run);
    }
    for (const runs of this.#runsBelow.values()) runs.sort((a, b) => a.first - b.first);
  }

  get length(): number {
    return this.data.ids.length;
  }

  indexOf(id: string): number {
    return this.#places.get(id) ?? -1;
  }

  id(index: number): string {
    return this.data.ids[index] ?? "";
  }

  name(index: number): string {
    return this.data.names[this.data.name[index] ?? 0] ?? "";
  }

  parent(index: number): number {
    return this.data.parent[index] ?? -1;
  }

  /** When the last of the calls started. */
  lastStart(): number {
    return this.data.start_us.reduce((last, start) => Math.max(last, start), -Infinity);
  }

  /** When the last call started that is directly below a call, a missing parent or, without an id, at the top; undefined without any. */
  lastBelow(id: string): number | undefined {
    let last: number | undefined;
    const [above, missing] = [this.indexOf(id), [...this.#missing].find(([, parent]) => parent.id === id)];
    const [from, end] = missing === undefined ? [0, this.length] : [missing[0], missing[1].end];
    for (let index = from; index < end; index++)
      if (this.parent(index) === above) last = Math.max(last ?? -Infinity, this.data.start_us[index] ?? 0);
    return last;
  }

  /** Whether calls may be below a call that are not read: those that start while it runs. */
  mayHaveMore(index: number): boolean {
    if (this.#cut === undefined || this.#cut.whole.has(this.id(index))) return false;
    const { to, isRunning } = this.timesOfCall(index);
    return isRunning || to >= this.#cut.from;
  }

  timesOfCall(index: number): RunTimes {
    const start = this.data.start_us[index] ?? 0;
    const end = this.data.end_us[index] ?? undefined;
    // A call that ends before it starts took no time.
    return { from: start, to: Math.max(start, end ?? start), isRunning: end === undefined };
  }

  /** When the calls of a run began and ended, those below them included; computed once. */
  timesOfRun(first: number): RunTimes {
    const known = this.#times.get(first);
    if (known !== undefined) return known;
    const times: RunTimes = { from: Infinity, to: -Infinity, isRunning: false };
    const end = this.#runs.get(first)?.end ?? first + 1;
    for (let index = first; index < end; index++) {
      const { from, to, isRunning } = this.timesOfCall(index);
      times.from = Math.min(times.from, from);
      times.to = Math.max(times.to, to);
      times.isRunning ||= isRunning;
    }
    this.#times.set(first, times);
    return times;
  }

  /** The rows that can be seen. Linear in the length of the trace. */
  rows({ closed, unfolded }: Folding): OutlineRow[] {
    const rows: OutlineRow[] = [];
    /** Ends of runs that are shown one by one, which are one level deeper. */
    const openEnds: number[] = [];
    /** Rows for what is not read, with the index that they come before. */
    const more: { end: number; row: OutlineRow }[] = [];
    const endMore = (index: number) => {
      while (index >= (more.at(-1)?.end ?? Infinity)) rows.push(...more.splice(-1).map(({ row }) => row));
    };
    for (let index = 0; index < this.length;) {
      endMore(index);
      while (index >= (openEnds.at(-1) ?? Infinity)) openEnds.pop();
      const missing = this.#missing.get(index);
      if (missing !== undefined) {
        const { id, children, end } = missing;
        const isOpen = !closed.has(id);
        rows.push({ kind: "missing", id, index, depth: 0, children, isOpen });
        if (!isOpen) {
          index = end;
          continue;
        }
        if (this.#cut?.whole.has(id) === false)
          more.push({ end, row: { kind: "more", id, index, depth: 1, isOpen: false } });
      }
      const run = this.#runs.get(index);
      if (run !== undefined) {
        const isOpen = unfolded.has(this.id(index));
        rows.push({ kind: "fold", index, depth: (this.depth[index] ?? 0) + openEnds.length, count: run.count, isOpen });
        if (!isOpen) {
          index = run.end;
          continue;
        }
        openEnds.push(run.end);
      }
      const hasChildren = (this.end[index] ?? 0) > index + 1;
      const mayHaveMore = this.mayHaveMore(index);
      const isParent = hasChildren || mayHaveMore;
      const isOpen = hasChildren && !closed.has(this.id(index));
      const depth = (this.depth[index] ?? 0) + openEnds.length;
      rows.push({ kind: "call", index, depth, isParent, isOpen });
      const end = this.end[index] ?? index + 1;
      if (isOpen && mayHaveMore)
        more.push({ end, row: { kind: "more", id: this.id(index), index, depth: depth + 1, isOpen: false } });
      index = isOpen ? index + 1 : end;
    }
    endMore(this.length);
    if (this.#cut?.whole.has("") === false) rows.push({ kind: "more", id: "", index: -1, depth: 0, isOpen: false });
    return rows;
  }

  /** The calls whose names have a text, whatever the case of its letters, with all above them; the first so many. */
  found(text: string, most = mostFound): { rows: OutlineRow[]; found: number } {
    const wanted = text.toLowerCase();
    const isFound = this.data.names.map((name) => name.toLowerCase().includes(wanted));
    const isShown = new Uint8Array(this.length);
    let found = 0;
    for (let index = 0; index < this.length; index++) {
      if (isFound[this.data.name[index] ?? 0] !== true || ++found > most) continue;
      for (let above = index; above >= 0 && isShown[above] === 0; above = this.parent(above)) isShown[above] = 1;
    }
    const rows: OutlineRow[] = [];
    for (let index = 0; index < this.length; index++)
      if (isShown[index] === 1)
        rows.push({ kind: "call", index, depth: this.depth[index] ?? 0, isParent: false, isOpen: true });
    return { rows, found };
  }

  /** The same, with everything open that hides a call. The same object, where nothing does. */
  reveal(id: string, folding: Folding): Folding {
    const { closed, unfolded } = folding;
    const [toOpen, toUnfold]: [string[], string[]] = [[], []];
    const open = (hiding: string) => closed.has(hiding) && toOpen.push(hiding);
    const place = this.indexOf(id);
    for (const [first, { id: missing, end }] of this.#missing) if (first <= place && place < end) open(missing);
    for (let index = place; index >= 0; index = this.parent(index)) {
      if (index !== place) open(this.id(index));
      const run = this.#runOf(index);
      if (run !== undefined && !unfolded.has(this.id(run.first))) toUnfold.push(this.id(run.first));
    }
    if (toOpen.length === 0 && toUnfold.length === 0) return folding;
    const opened = new Set(closed);
    for (const hiding of toOpen) opened.delete(hiding);
    return { closed: opened, unfolded: new Set([...unfolded, ...toUnfold]) };
  }

  /** The next call with an error of its own, before or behind a call; -1 without one. */
  nextError(from: number, step: 1 | -1): number {
    for (let index = from + step; index >= 0 && index < this.length; index += step)
      if (this.data.status[index] === "error") return index;
    return -1;
  }

  /** Depths, and ends of subtrees, from parents: what is deeper and follows is below. */
  #end(parent: readonly number[]): void {
    const above: number[] = [];
    for (let index = 0; index < parent.length; index++) {
      const parentOf = parent[index] ?? -1;
      this.depth[index] = parentOf < 0 ? 0 : (this.depth[parentOf] ?? 0) + 1;
      while (above.length > (this.depth[index] ?? 0)) this.end[above.pop() ?? 0] = index;
      above.push(index);
    }
    for (const index of above) this.end[index] = parent.length;
  }

  #findRuns(): Map<number, Run> {
    const runs = new Map<number, Run>();
    const lastBelow = new Map<number, Run>();
    for (let index = 0; index < this.length; index++) {
      // Children of missing parents are not neighbours of those of others.
      if (this.#missing.has(index)) lastBelow.delete(-1);
      const parent = this.parent(index);
      const [name, end] = [this.data.name[index] ?? 0, this.end[index] ?? index + 1];
      const last = lastBelow.get(parent);
      if (last?.name === name && last.end === index) {
        last.count++;
        last.end = end;
        if (last.count === foldedFrom) runs.set(last.first, last);
      } else lastBelow.set(parent, { name, first: index, count: 1, end });
    }
    return runs;
  }

  /** The run that a call is one of. */
  #runOf(index: number): Run | undefined {
    const runs = this.#runsBelow.get(this.parent(index)) ?? [];
    let [low, high] = [0, runs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((runs[middle]?.first ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    const run = runs[low - 1];
    return run !== undefined && index < run.end ? run : undefined;
  }
}
