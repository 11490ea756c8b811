import type { ModelConfig } from "../model/config.js";
import { cacheBytes, roundRows } from "./key-value-cache.js";
import { maxListed } from "../sampling/sampled-token.js";
import type { RowGroup, SamplingGroup, Sharer } from "./row-group.js";
import type { ScheduledRequest } from "./scheduled-request.js";
import { logprobBytes, minRowCapacity, promptBytes, requiredCapacity, resultBytesOf } from "./scheduled-request.js";

/** Rows and bytes of a sampler, or of a part of it. */
export interface SamplerCapacity {
  rows: number;
  bytes: number;
}

/**
 * Parts of the rows and of the memory that the requests of one key, and of all keys of one entity, have at most. What is
 * left starts the requests of others, however long those of one entity run.
 */
const keyShare = 1 / 2;
const entityShare = 3 / 4;

/**
 * Fraction of the memory of a sampling process for running requests. The rest is for weights, which `weightsCache` counts. Neither has
 * the process itself, about 130 MB, nor the activations of one prompt chunk: some arrays of at most 16 million attention scores or
 * logits.
 */
export const requestShare = 1 / 3;

/**
 * Returns the most tokens that prompt and completion may have together so that one key can have them, of a process with this memory:
 * a power of two, or the context of the model.
 */
export function longestText(config: ModelConfig, processBytes: number): number {
  const { bytes } = shareOfKey({ rows: 1, bytes: processBytes * requestShare });
  const needed = (tokens: number) =>
    groupBytes({ weights: { config }, capacity: tokens }, 1) + cacheBytes(config, 1, tokens) + logprobBytes * tokens;
  let tokens = minRowCapacity;
  while (tokens < config.contextLength && needed(2 * tokens) <= bytes) tokens *= 2;
  return Math.min(tokens, config.contextLength);
}

/** Returns what the requests of one key may have of a sampler. */
export function shareOfKey({ rows, bytes }: SamplerCapacity): SamplerCapacity {
  return { rows: Math.max(1, Math.floor(rows * keyShare)), bytes: bytes * keyShare };
}

function shareOfEntity({ rows, bytes }: SamplerCapacity): SamplerCapacity {
  return { rows: Math.max(1, Math.floor(rows * entityShare)), bytes: bytes * entityShare };
}

/** Maximum number of rows per `run()`. */
const maxRowsPerRun = 64;
/** Maximum number of log-probabilities that a step lists for its rows. */
const maxListedPerStep = 2 ** 18;
/** Rows of one key that are decoded together with those of other keys. */
const maxCommonRows = 8;

/** While a batch grows, its old caches, half as large as the new ones, exist in addition. */
const growthFactor = 1.5;

type GroupShape = { weights: Pick<RowGroup["weights"], "config"> } & Pick<RowGroup, "capacity">;

/**
 * Returns the bytes of a group of rows: keys and values at their full length, and both outputs of a step. The number of
 * rows is rounded up to a power of two.
 */
export function groupBytes({ weights: { config }, capacity }: GroupShape, rows: number): number {
  if (rows === 0) return 0;
  const rounded = roundRows(rows);
  return growthFactor * cacheBytes(config, rounded, capacity) + 2 * 4 * rounded * config.vocabularySize;
}

/** Returns the bytes that a request needs if nothing else runs: for one completion at a time, or for all beams. */
export function minBytes(scheduled: Pick<ScheduledRequest, "weights" | "context">): number {
  const { n, beamSearch } = scheduled.context.request;
  const group = { weights: scheduled.weights, capacity: requiredCapacity(scheduled.context) };
  return groupBytes(group, beamSearch ? n : 1) + promptBytes(scheduled) + resultBytesOf(scheduled.context);
}

/** What exists in a scheduler. */
export interface SchedulerState {
  /** Requests with completions that have not started. */
  queue: readonly ScheduledRequest[];
  /** Requests whose results are being collected. */
  running: readonly ScheduledRequest[];
  groups: readonly RowGroup[];
  /** Requests whose prompts are about to be prefilled together. */
  starting?: readonly ScheduledRequest[];
}

/** Selects the requests of a sharer; absent: all requests. */
type Matches = ((scheduled: ScheduledRequest) => boolean) | undefined;

/** Rows that would be added, to a group or as a new one. */
interface Start {
  scheduled: ScheduledRequest;
  rows: number;
  group: RowGroup | undefined;
}

/** Whose limit keeps a request from starting. */
type Limit = "key" | "entity" | "all";

/**
 * Decides which request starts next. A key and an entity have a share of the rows and of the memory; a request without a
 * sharer is limited by the capacity only. What a sharer has is counted as if nothing else ran, so that what others have
 * never delays it beyond the capacity itself.
 */
export class Admission {
  readonly #capacity: SamplerCapacity;

  constructor(capacity: SamplerCapacity) {
    this.#capacity = capacity;
  }

  /**
   * Returns the next request to start: of the entity, and in it of the key, that has the least; of one key, the highest
   * priority, then the fewest rows, so that a request with many completions does not delay the others, then the first.
   * A request that waits for its share delays later ones of the same share; one that waits for others delays all that
   * would come after it.
   */
  next(state: SchedulerState): ScheduledRequest | undefined {
    const held = this.#heldBy(state);
    const ordered = state.queue.toSorted(
      (a, b) =>
        held(a, "entity") - held(b, "entity") ||
        held(a, "key") - held(b, "key") ||
        b.priority - a.priority ||
        a.rows - b.rows ||
        a.order - b.order,
    );
    const blocked: { by: ScheduledRequest; limit: Limit }[] = [];
    for (const scheduled of ordered) {
      if (blocked.some(({ by, limit }) => delays(by, limit, scheduled))) continue;
      const limit = this.#limitOf(state, scheduled);
      if (limit === undefined) return scheduled;
      blocked.push({ by: scheduled, limit });
    }
    return undefined;
  }

  /**
   * Returns whose the group is that a completion of the request joins: rows that take longer than those of others are
   * decoded apart, so that they take turns with the others instead of keeping them. Undefined for the rows of many keys:
   * together they take less than apart.
   */
  sharerOfGroup({ queue, groups }: SchedulerState, scheduled: ScheduledRequest): Sharer | undefined {
    const { sharer } = scheduled;
    if (!sharer || isSlow(scheduled)) return sharer;
    const hasOwn = groups.some((group) => "join" in group && group.sharer?.key === sharer.key);
    const isSame = (each: ScheduledRequest) => each.sharer?.key === sharer.key;
    const unstarted = queue.reduce((sum, each) => sum + (isSame(each) ? each.unstarted : 0), 0);
    const rows = groups.reduce((sum, group) => sum + countRows(group, isSame), unstarted);
    return hasOwn || rows > maxCommonRows ? sharer : undefined;
  }

  /** Returns the group that a completion of the request joins; undefined for a new group. */
  groupFor(state: SchedulerState, scheduled: ScheduledRequest): SamplingGroup | undefined {
    if (scheduled.beams) return undefined;
    const sharer = this.sharerOfGroup(state, scheduled);
    const all = state.groups.filter(
      (group): group is SamplingGroup =>
        "join" in group && group.sharer?.key === sharer?.key && canJoin(group, scheduled),
    );
    const withSpace = all.find((group) => group.rows < group.allocatedRows);
    if (withSpace) return withSpace;
    const smallest = all.toSorted((a, b) => a.rows - b.rows)[0];
    if (!smallest) return undefined;
    // Doubling a group needs memory for more rows than one. Where that is short, the row gets a group of its own.
    const start = { scheduled, rows: 1, group: smallest };
    const isPlenty = bytesOf(state, undefined, start) <= shareOfEntity(this.#capacity).bytes;
    return isPlenty && this.#exceeded(state, start) === undefined ? smallest : undefined;
  }

  /** Returns how many rows, at most `most`, may follow the next one in the same group. */
  rowsToFollow(state: SchedulerState, scheduled: ScheduledRequest, group: RowGroup, most: number): number {
    let rows = Math.min(most, mostRows(scheduled) - group.rows - 1);
    while (rows > 0 && this.#exceeded(state, { scheduled, rows: 1 + rows, group }) !== undefined) rows >>= 1;
    return Math.max(0, rows);
  }

  /** Returns the bytes that are left when a request starts rows in its group, and others are prefilled with it. */
  bytesLeft(state: SchedulerState, scheduled: ScheduledRequest, rows = 1): number {
    const start = { scheduled, rows, group: this.groupFor(state, scheduled) };
    return this.#capacity.bytes - bytesOf(state, undefined, start);
  }

  /** Returns whether the request can be prefilled together with those that are about to start. */
  canStartWith(state: SchedulerState, scheduled: ScheduledRequest, starting: readonly ScheduledRequest[]): boolean {
    return this.#limitOf({ ...state, starting }, scheduled) === undefined;
  }

  #limitOf(state: SchedulerState, scheduled: ScheduledRequest): Limit | undefined {
    const rows = scheduled.beams ? scheduled.context.request.n : 1;
    return this.#exceeded(state, { scheduled, rows, group: this.groupFor(state, scheduled) });
  }

  #exceeded(state: SchedulerState, start: Start): Limit | undefined {
    const { sharer } = start.scheduled;
    const exceeds = (matches: Matches, share: SamplerCapacity) =>
      rowsOf(state, matches) + start.rows > share.rows || bytesOf(state, matches, start) > share.bytes;
    if (sharer) {
      if (exceeds((each) => each.sharer?.key === sharer.key, shareOfKey(this.#capacity))) return "key";
      if (exceeds((each) => each.sharer?.entity === sharer.entity, shareOfEntity(this.#capacity))) return "entity";
    }
    return exceeds(undefined, this.#capacity) ? "all" : undefined;
  }

  /** Returns a function that gives the part of the capacity that the sharer of a request has. */
  #heldBy(state: SchedulerState): (scheduled: ScheduledRequest, share: "key" | "entity") => number {
    const sums = { key: new Map<string, SamplerCapacity>(), entity: new Map<string, SamplerCapacity>() };
    for (const scheduled of new Set([...state.queue, ...state.running])) {
      const { sharer } = scheduled;
      if (!sharer) continue;
      const bytes = ownBytes(state, scheduled) + scheduled.rows * groupBytes(scheduled, 1);
      for (const share of ["key", "entity"] as const) {
        const before = sums[share].get(sharer[share]) ?? { rows: 0, bytes: 0 };
        sums[share].set(sharer[share], { rows: before.rows + scheduled.rows, bytes: before.bytes + bytes });
      }
    }
    return ({ sharer }, share) => {
      const { rows, bytes } = (sharer && sums[share].get(sharer[share])) ?? { rows: 0, bytes: 0 };
      return Math.max(rows / this.#capacity.rows, bytes / this.#capacity.bytes);
    };
  }
}

/** Returns whether a request that has to wait for `limit` delays another one, which would come after it. */
function delays(waiting: ScheduledRequest, limit: Limit, other: ScheduledRequest): boolean {
  const isSameKey = waiting.sharer?.key === other.sharer?.key;
  // Of one key, one that arrived earlier may use what is too little for this one.
  if (isSameKey) return other.order > waiting.order;
  return limit === "all" || (limit === "entity" && waiting.sharer?.entity === other.sharer?.entity);
}

function canJoin(group: RowGroup, scheduled: ScheduledRequest): boolean {
  const { weights, capacity } = scheduled;
  return group.weights === weights && group.capacity === capacity && group.rows < mostRows(scheduled);
}

/** Rows of a group in which the request has one. */
function mostRows(scheduled: ScheduledRequest): number {
  if (!listsMuch(scheduled)) return maxRowsPerRun;
  const { vocabularySize } = scheduled.weights.config;
  return Math.min(maxRowsPerRun, Math.max(1, Math.floor(maxListedPerStep / vocabularySize)));
}

/** Whether a step of a row of the request takes long, besides the step of the model. */
function isSlow(scheduled: ScheduledRequest): boolean {
  return scheduled.context.request.structuredOutput !== undefined || listsMuch(scheduled);
}

function listsMuch({ context: { request } }: ScheduledRequest): boolean {
  const { topLogprobs = 0 } = request;
  return topLogprobs < 0 || topLogprobs > maxListed;
}

function countRows(group: RowGroup, matches: Matches): number {
  if (!matches) return group.rows;
  let rows = 0;
  for (const scheduled of group.requests()) if (matches(scheduled)) rows++;
  return rows;
}

function rowsOf({ groups, starting = [] }: SchedulerState, matches: Matches): number {
  const rows = groups.reduce((sum, group) => sum + countRows(group, matches), 0);
  return rows + (matches ? starting.filter(matches) : starting).length;
}

/**
 * Returns the bytes of the requests that match after a start: their rows, as if no others were in the same groups, their
 * prompts and their results. Of all requests it is what exists.
 */
function bytesOf(state: SchedulerState, matches: Matches, start: Start): number {
  const { queue, running, groups, starting = [] } = state;
  let bytes = start.group ? 0 : groupBytes(start.scheduled, start.rows);
  for (const group of groups) {
    const rows = countRows(group, matches) + (start.group === group ? start.rows : 0);
    bytes += groupBytes(group, matches ? rows : Math.max(rows, group.allocatedRows));
  }
  for (const each of starting) if (!matches || matches(each)) bytes += groupBytes(each, 1);
  for (const each of new Set([...queue, ...running, ...starting, start.scheduled])) {
    if (matches && !matches(each)) continue;
    const starts = each === start.scheduled || starting.includes(each);
    bytes += starts ? each.resultBytes + promptBytes(each) : ownBytes(state, each);
  }
  return bytes;
}

/** Returns the bytes of the result and of the prompt of a request, as far as they exist. */
function ownBytes({ running }: SchedulerState, scheduled: ScheduledRequest): number {
  const prompt = (scheduled.prompt ?? scheduled.reader) ? promptBytes(scheduled) : 0;
  return prompt + (running.includes(scheduled) ? scheduled.resultBytes : 0);
}
