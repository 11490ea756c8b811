import { HeddleError } from "@heddle/errors";
import { canonicalJson } from "@heddle/exact-json";
import type { ChangeHub } from "../changes/change-hub.js";
import type { Change } from "../changes/change.js";
import type { ProjectChanges } from "../changes/project-changes.js";
import { storedChanges } from "../changes/stored-changes.js";
import { scopeOf } from "../call-reading/selection.js";
import { shapeOf } from "../call-pages/call-pages.js";
import type { RowRequest } from "../call-pages/call-pages.js";
import { selectPrice } from "../call-pages/call-select.js";
import { bytesOfRow } from "../call-pages/read-rows.js";
import type { RowsSource } from "../call-pages/read-rows.js";
import type { CallReadsContext } from "../calls/calls.js";
import type { ReadOptions } from "../context.js";
import { planCalls } from "../query/call-query.js";
import type { CallSelector } from "../query/call-query.js";
import { readChanges } from "./read-changes.js";
import type { CallEvent } from "./read-changes.js";
import { SharedReads } from "./shared-reads.js";
import { changesAtOnce, tailSelection } from "./tail-selection.js";
import type { TailSelection } from "./tail-selection.js";

export type TailEvent =
  | CallEvent
  /** Everything up to here has been sent. */
  | { seq: bigint; kind: "caught_up" }
  /** What changed after `from` up to here is not sent. */
  | { seq: bigint; kind: "gap"; from: bigint };

/** An event, and whether everything up to its sequence has been sent with it, so that a reader can go on from there. */
export interface TailItem {
  event: TailEvent;
  isComplete: boolean;
}

/** Events that come together, in their order. Readers who ask for the same at the same place get the same object. */
export interface TailBatch {
  items: readonly TailItem[];
  /** About what it takes in memory. */
  bytes: number;
}

export interface CallsTailRequest extends Pick<CallSelector, "project_id" | "filter" | "query" | "search">, RowRequest {
  /** The last sequence that the reader has; undefined begins now. */
  after?: bigint | undefined;
  /** After so long the tail ends. */
  seconds: number;
}

export interface CallTails {
  /**
   * Follows the changes of calls, in the order of their sequence, until the time is over, the store closes, or the reader
   * leaves. Throws `unprocessable` for a sequence of the future, `busy` where another process writes, and else as queries do.
   */
  tail(request: CallsTailRequest, options: ReadOptions & { signal: AbortSignal }): AsyncIterable<TailBatch>;
  /** Ends all tails in order, and those that begin later. */
  endTails(): void;
}

export interface CallTailsContext extends CallReadsContext {
  hub: ChangeHub;
  mayWrite: () => boolean;
  /** No version so far is greater. */
  greatest: () => bigint;
}

/** How often a reader hears that nothing was missed. */
const caughtUpMs = 15_000;
/** After the engine could not respond. */
const retryMs = 500;

export function openCallTails(context: CallTailsContext): CallTails {
  const ending = new AbortController();
  const shared = new SharedReads<TailBatch>();
  return {
    tail: (request, options) => follow({ ...context, shared }, request, { ...options, ending: ending.signal }),
    endTails: () => ending.abort(),
  };
}

interface TailOptions extends ReadOptions {
  signal: AbortSignal;
  ending: AbortSignal;
}

type Context = CallTailsContext & { shared: SharedReads<TailBatch> };

async function* follow(
  context: Context,
  request: CallsTailRequest,
  { signal, ending, reserve }: TailOptions,
): AsyncGenerator<TailBatch, void, undefined> {
  const { project_id, after } = request;
  const shape = shapeOf(request);
  const { filter, query, search } = request;
  const plan = planCalls({ project_id, filter, query, search }, { select: selectPrice(shape.select) });
  checkWriter(context);
  const { changes, close } = context.hub.follow(project_id);
  try {
    changes.advance();
    if (after !== undefined && after > context.greatest()) {
      throw new HeddleError("unprocessable", "a sequence of the future", { loc: ["after"] });
    }
    const tail = new Tail(context, { project_id, changes, selection: tailSelection(plan, shape), request });
    const endsAt = performance.now() + request.seconds * 1000;
    const leaving = AbortSignal.any([signal, ending]);
    const isOver = () => leaving.aborted || performance.now() >= endsAt;
    let position = after !== undefined && after < changes.boundary ? after : changes.boundary;
    let reportedAt = -Infinity;
    let reported = -1n;
    for (;;) {
      const isLast = isOver();
      for await (const batch of tail.read(position, signal)) {
        const release = await reserve?.(batch.bytes);
        yield batch;
        release?.();
      }
      position = tail.position > position ? tail.position : position;
      checkWriter(context);
      if (performance.now() - reportedAt >= caughtUpMs || (isLast && position > reported)) {
        yield batchOf([{ seq: position, kind: "caught_up" }], undefined);
        reportedAt = performance.now();
        reported = position;
      }
      signal.throwIfAborted();
      if (isLast) return;
      if (changes.boundary > position) continue;
      await changes.moved(Math.max(0, Math.min(reportedAt + caughtUpMs, endsAt) - performance.now()), leaving);
      // Who is woken by a change goes as far as the others, so that they can share what they read.
      if (changes.boundary === position) changes.advance();
    }
  } finally {
    close();
  }
}

/** What another process writes is not noticed here. */
function checkWriter({ mayWrite }: Context): void {
  if (!mayWrite()) throw new HeddleError("busy", "Another service writes the traces now: changes are followed there");
}

const sizeOf = (event: TailEvent): number => ("call" in event && event.call ? bytesOfRow(event.call) : 100);

interface Followed {
  project_id: string;
  changes: ProjectChanges;
  selection: TailSelection;
  request: CallsTailRequest;
}

/** The reads of one tail. */
class Tail {
  readonly #context: Context;
  readonly #followed: Followed;
  readonly #key: string;
  /** Up to here everything was read. */
  position = 0n;

  constructor(context: Context, followed: Followed) {
    this.#context = context;
    this.#followed = followed;
    const { after: _after, seconds: _seconds, ...same } = followed.request;
    this.#key = canonicalJson(
      JSON.stringify(same, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
    );
  }

  /** What is to be sent of what changed after a position up to now. */
  async *read(after: bigint, signal: AbortSignal): AsyncGenerator<TailBatch, void, undefined> {
    const { changes: recent, project_id } = this.#followed;
    const upTo = recent.boundary;
    if (upTo <= after) return;
    const { engine } = this.#context;
    const known = recent.between(after, upTo);
    const changes =
      known ?? (await untilResponds(() => storedChanges(engine, project_id, { after, upTo, signal }), signal));
    if (changes === undefined) {
      yield batchOf([{ seq: upTo, kind: "gap", from: after }], undefined);
      this.position = upTo;
      return;
    }
    const most = changesAtOnce(this.#followed.selection);
    for (let from = 0; from < changes.length; from += most) {
      const some = changes.slice(from, from + most);
      const next = changes[from + most]?.version;
      // What the hub has between two versions is the same for all; the tables have of each call the last change at the time.
      const key = known && `${after} ${upTo} ${from} ${this.#key}`;
      const batch = await untilResponds(
        () =>
          key === undefined
            ? this.#batch(some, next, signal)
            : this.#context.shared.read(key, () => this.#batch(some, next)),
        signal,
      );
      if (batch.items.length > 0) yield batch;
    }
    this.position = upTo;
  }

  /** Without a signal where others go on with it when this reader leaves. */
  async #batch(changes: readonly Change[], next: bigint | undefined, signal?: AbortSignal): Promise<TailBatch> {
    const { project_id, selection, changes: recent } = this.#followed;
    const began = performance.now();
    const { engine, costs } = this.#context;
    const source: RowsSource = {
      engine,
      lookups: engine,
      scope: scopeOf(this.#context, project_id),
      signal,
      reserve: undefined,
      readBook: async () => await costs.book(project_id, signal),
    };
    try {
      return batchOf(await readChanges(source, selection, changes), next);
    } finally {
      recent.took(performance.now() - began);
    }
  }
}

/** `next` is the version of the first change that is read later. */
function batchOf(events: readonly TailEvent[], next: bigint | undefined): TailBatch {
  return {
    items: events.map((event, at) => ({ event, isComplete: event.seq !== (events[at + 1]?.seq ?? next) })),
    bytes: events.reduce((sum, event) => sum + sizeOf(event), 0),
  };
}

/** Tries again while the engine does not respond: a reader waits for it, and misses nothing. */
async function untilResponds<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      const isBusy = error instanceof HeddleError && (error.code === "busy" || error.code === "rate_limited");
      if (!isBusy) throw error;
    }
    signal.throwIfAborted();
    await new Promise((resolve) => {
      setTimeout(resolve, retryMs);
    });
    signal.throwIfAborted();
  }
}
