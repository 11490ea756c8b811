import type { CallRow, CallTotal, CallsPageRes } from "@heddle/client/tracing";

/** Where a page begins: at the first call, or at what the API calls so. */
export type PageStart = { after?: string; before?: string; at_time?: string };

/** Reads a page of the selection that the pages are of. */
export type ReadPage<Row> = (start: PageStart & { limit: number }, signal: AbortSignal) => Promise<Page<Row>>;

export type Page<Row> = Omit<CallsPageRes, "calls"> & { calls: Row[] };

export interface PagesState {
  /** Rows that are loaded, one after another without a gap. */
  readonly count: number;
  /** How many rows came before those that were first: what is on the page moves down by as many. */
  readonly prepended: number;
  /** How often the rows were replaced by others, after a jump. */
  readonly generation: number;
  readonly hasBefore: boolean;
  readonly hasAfter: boolean;
  readonly loading: boolean;
  readonly error: unknown;
  readonly total: CallTotal | undefined;
  /** Up to when a search has looked that has not looked everywhere. */
  readonly searchedTo: string | undefined;
  /** Whether it has looked from the oldest call on, towards the newest. */
  readonly isBackwards: boolean;
  /** Whether it goes on when the reader asks for it; else it looks further by itself. */
  readonly isStopped: boolean;
  /** Calls that came since, and wait until the reader asks for them. */
  readonly newer: number;
  /** Whether there may be more of them than were counted. */
  readonly newerIsLeast: boolean;
}

const pageRows = 200;
/** Rows that are read ahead in the direction of the reader. */
const ahead = 3 * pageRows;
/** Rows that a look for newer calls reads. */
const lookRows = 50;
/** A search looks further by itself until it has found so many rows ahead of the reader: what a window shows. */
const aheadOfSearch = 40;
/** How often it does so without finding one: each look takes the service seconds. */
const mostLooks = 30;

const nothing: PagesState = {
  count: 0,
  prepended: 0,
  generation: 0,
  hasBefore: false,
  hasAfter: true,
  loading: false,
  error: undefined,
  total: undefined,
  searchedTo: undefined,
  isBackwards: false,
  isStopped: false,
  newer: 0,
  newerIsLeast: false,
};

/**
 * The calls of a selection, by pages between cursors: a stretch of rows that grows at both ends, and begins elsewhere after a
 * jump. Rows never move by themselves: what is new waits, and what changed is replaced where it is.
 */
export class CallPages<Row extends Pick<CallRow, "id" | "seq">> {
  readonly #read: ReadPage<Row>;
  readonly #listeners = new Set<() => void>();
  #rows: Row[] = [];
  /** Index of each call, as if nothing had been prepended. */
  #places = new Map<string, number>();
  #previous: string | undefined;
  #next: string | undefined;
  #state = nothing;
  #loading: AbortController | undefined;
  /** Reads again what failed. */
  #again: (() => Promise<void>) | undefined;
  /** How often a search has looked further by itself, and found nothing. */
  #looks = 0;

  constructor(read: ReadPage<Row>) {
    this.#read = read;
  }

  readonly state = (): PagesState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  row(index: number): Row | undefined {
    return this.#rows[index];
  }

  /** Where a call is among the rows; -1 where it is not loaded. */
  indexOf(id: string): number {
    const place = this.#places.get(id);
    return place === undefined ? -1 : place + this.#state.prepended;
  }

  /** Sees to it that these rows and some further ones are loaded. One page is read at a time. */
  want(first: number, last: number): void {
    const { count, hasBefore, hasAfter, loading, error, searchedTo, isStopped, prepended } = this.#state;
    if (loading || error !== undefined || isStopped) return;
    const far = searchedTo === undefined ? ahead : aheadOfSearch;
    const goOn = () => {
      const moved = this.#state.prepended - prepended;
      this.want(first + moved, last + moved);
    };
    const load = (start: PageStart) => void this.#load(start, goOn);
    if (count === 0) {
      if (hasAfter) load(this.#next === undefined ? {} : { after: this.#next });
      else if (hasBefore && this.#previous !== undefined) load({ before: this.#previous });
    } else if (hasAfter && last + far >= count) load({ after: this.#next });
    else if (hasBefore && first - far < 0) load({ before: this.#previous });
  }

  /** Begins anew: at the first call, at the last, or at a time. The rows of before remain until others are there. */
  async jump(to: "first" | "last" | { at_time: string }): Promise<void> {
    this.#loading?.abort(new Error("another page was asked for"));
    await this.#load(to === "first" ? {} : to === "last" ? { before: "end" } : to, undefined, true);
  }

  /** Looks further for what is searched. */
  goOn(): void {
    const { count, isBackwards } = this.#state;
    this.#looks = 0;
    this.#change({ isStopped: false });
    this.want(isBackwards ? 0 : count, count);
  }

  /** Looks no further by itself; what was found stays. */
  stop(): void {
    this.close();
    this.#change({ isStopped: true });
  }

  /** Tries again after an error, which stays said until there is an answer. */
  async retry(): Promise<void> {
    if (!this.#state.loading) await this.#again?.();
  }

  /** Looks for calls that came and changed since. Fails silently: the next look may succeed. */
  async look(signal: AbortSignal): Promise<void> {
    const { generation, loading, hasBefore, error, searchedTo } = this.#state;
    if (loading || hasBefore || error !== undefined || searchedTo !== undefined) return;
    const { calls, total } = await this.#read({ limit: lookRows }, signal);
    if (this.#state.generation !== generation) return;
    const known = calls.findIndex(({ id }) => this.#places.has(id));
    this.replace(calls);
    const newer = this.#state.count === 0 ? 0 : known < 0 ? calls.length : known;
    if (this.#state.count === 0 && calls.length > 0) await this.jump("first");
    else
      this.#change({ newer, newerIsLeast: known < 0 && calls.length === lookRows, total: total ?? this.#state.total });
  }

  /** Puts newer versions of calls where they are. */
  replace(calls: readonly Row[]): void {
    let changed = false;
    for (const call of calls) {
      const index = this.indexOf(call.id);
      const present = this.#rows[index];
      if (present === undefined || BigInt(call.seq) <= BigInt(present.seq)) continue;
      this.#rows[index] = call;
      changed = true;
    }
    if (changed) this.#change({});
  }

  close(): void {
    this.#loading?.abort(new Error("the calls are not shown any more"));
    // That is no failure: the next screen that shows them asks again.
    this.#loading = undefined;
    if (this.#state.loading) this.#change({ loading: false });
  }

  async #load(start: PageStart, then?: () => void, isJump = false): Promise<void> {
    const loading = new AbortController();
    this.#loading = loading;
    this.#again = () => this.#load(start, then, isJump);
    this.#change({ loading: true });
    try {
      const page = await this.#read({ ...start, limit: pageRows }, loading.signal);
      if (this.#loading !== loading) return;
      this.#again = undefined;
      if (this.#state.error !== undefined) this.#change({ error: undefined });
      this.#take(start, page, isJump);
      then?.();
    } catch (error) {
      if (this.#loading === loading) this.#change({ loading: false, error });
    }
  }

  #take(start: PageStart, page: Page<Row>, isJump: boolean): void {
    const { calls, next, previous, total, search } = page;
    const isBackwards = start.before !== undefined;
    const isUnfinished = search?.complete === false && (isBackwards ? previous : next) !== undefined;
    const hasMore = page.has_more || isUnfinished;
    const { prepended, generation } = this.#state;
    this.#looks = isJump || calls.length > 0 ? 0 : this.#looks + 1;
    const looked = {
      searchedTo: isUnfinished ? search.searched_to : undefined,
      isBackwards,
      isStopped: isUnfinished && this.#looks >= mostLooks,
    };
    if (isJump || this.#rows.length === 0) {
      this.#rows = calls;
      this.#places = new Map(calls.map(({ id }, index) => [id, index]));
      [this.#previous, this.#next] = [previous, next];
      const [hasBefore, hasAfter] = isBackwards ? [hasMore, false] : [start.at_time !== undefined, hasMore];
      this.#change({
        ...nothing,
        count: calls.length,
        generation: generation + 1,
        hasBefore,
        hasAfter,
        ...looked,
        total: total ?? this.#state.total,
      });
      return;
    }
    const fresh = calls.filter(({ id }) => !this.#places.has(id));
    if (isBackwards) {
      for (const [index, { id }] of fresh.entries()) this.#places.set(id, index - fresh.length - prepended);
      this.#rows = [...fresh, ...this.#rows];
      this.#previous = previous ?? this.#previous;
      this.#change({ loading: false, hasBefore: hasMore, ...looked, prepended: prepended + fresh.length });
    } else {
      for (const [index, { id }] of fresh.entries()) this.#places.set(id, this.#rows.length + index - prepended);
      this.#rows.push(...fresh);
      this.#next = next ?? this.#next;
      this.#change({ loading: false, hasAfter: hasMore, ...looked, total: total ?? this.#state.total });
    }
  }

  #change(change: Partial<PagesState>): void {
    this.#state = { ...this.#state, count: this.#rows.length, ...change };
    for (const listener of this.#listeners) listener();
  }
}
