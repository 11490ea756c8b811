import { LRUCache } from "lru-cache";
import type { CallKey } from "../../stored-calls/call-key.js";
import { newestBy } from "../../schema/newest-by.js";
import { copyText } from "../../stored-calls/call-sides.js";
import { restAfter } from "../../background-share.js";
import { compareStarts } from "../../stored-calls/compare-starts.js";
import type { KeptCall, NewestOfProject, ReadBack, ReadCall } from "../../stored-calls/kept-call.js";
import { Member, packGroup } from "./call-group.js";
import type { Adding, Group, WrittenCall } from "./call-group.js";
import { joined, plainBlock } from "./row-blocks.js";
import { endOfTime, startOfTime } from "./times.js";

/** About the memory of a call without its row, a fifth of it for a trace of its own. */
const callBytes = 250;
/** This part of the memory is packed or forgotten at once. */
const groupShare = 1 / 32;
/** Nothing is packed while less of the memory is used, and never the newest part of it, which most look at. */
const [packedFrom, neverPacked] = [1 / 2, 1 / 8];
/** Projects with a horizon of their own. Beyond, that of most becomes the one of all. */
const maxHorizons = 10_000;
/** What is read back of one project takes what is free, or this part of the memory where less is free, … */
const readBackFromOthers = 1 / 8;
/** … in slices that leave time to others, the first ones at once, … */
const [sliceCalls, sliceBytes, urgentSlices] = [2000, 4 * 1024 * 1024, 5];
/** … and is not read again so soon: other projects may need the memory more. */
const readBackPauseMs = 60_000;
/** Nobody has read or written for so long: nobody is likely to wait for what is done meanwhile. */
const idleMs = 250;

/** What is being read back. */
interface Reading extends Adding {
  projectId: string;
  isStale: boolean;
  /** By another project. */
  isWaitedFor: boolean;
}

interface Project {
  /** In the order of the table. */
  ordered: Member[];
  /** Not in order yet: that is done when somebody reads. */
  added: Member[];
}

/**
 * The complete calls that were written last, whole, so that what most look at needs no statement. Of a project it has all that
 * started after its horizon, and some that started before.
 *
 * Bounded by bytes: what was written first is forgotten first, and the horizon rises past it. It changes as `KnownCalls` does.
 */
export class NewestCalls {
  readonly #projects = new Map<string, Project>();
  /** In the order in which they are forgotten: what was read back, its oldest calls first, and then what was written. */
  #groups: Group[] = [];
  readonly #horizons = new Map<string, bigint>();
  readonly #limit: number;
  /** Down to which time calls of a project were read back, and when that was, in milliseconds. */
  readonly #readBack = new LRUCache<string, { after: bigint; at: number }>({ max: maxHorizons });
  #reading: Reading | undefined;
  #usedAt = 0;
  readonly #written: Adding = {};
  #isPacking = false;
  readonly #rest: typeof restAfter;
  #horizon: bigint;
  #bytes = 0;

  /**
   * Calls that are stored have started at the horizon or before, unless {@link started} is told of them. `rest` is what packing
   * does after each block.
   */
  constructor(limitBytes: number, horizon: bigint, rest = restAfter) {
    this.#limit = limitBytes;
    this.#rest = rest;
    this.#horizon = horizon;
  }

  /** About the bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** It is not used any more: nothing more is packed, so that nothing holds its memory. */
  end(): void {
    for (const group of this.#groups) group.isForgotten = true;
  }

  /** A call is stored that is not here. */
  started(projectId: string, startedAt: bigint): void {
    if (startedAt > this.#horizonOf(projectId)) this.#setHorizon(copyText(projectId), startedAt);
  }

  /** In any project. */
  startedUpTo(horizon: bigint): void {
    if (horizon > this.#horizon) this.#horizon = horizon;
    for (const [id, own] of this.#horizons) if (own <= this.#horizon) this.#horizons.delete(id);
  }

  /**
   * Begins to read back what the tables have of a project from before its horizon; undefined where memory has what there is or what
   * it may take, something is being read, or this was a moment ago. Another project that is read in the background gives way.
   */
  readBack(projectId: string): ReadBack | undefined {
    this.#usedAt = performance.now();
    const last = this.#readBack.get(projectId);
    const horizon = this.#horizonOf(projectId);
    if (horizon === startOfTime) return undefined;
    if (last !== undefined && (horizon <= last.after || performance.now() - last.at < readBackPauseMs))
      return undefined;
    if (this.#reading !== undefined) {
      if (this.#reading.projectId !== projectId) this.#reading.isWaitedFor = true;
      return undefined;
    }
    const reading: Reading = { projectId: copyText(projectId), isStale: false, isWaitedFor: false };
    this.#reading = reading;
    this.#readBack.set(reading.projectId, { after: startOfTime, at: performance.now() });
    const left = () => Math.max(this.#limit * readBackFromOthers - this.#bytesBy(reading), this.#limit - this.#bytes);
    let isFull = false;
    let upTo = horizon;
    let slices = 0;
    return {
      next: () => {
        if (reading.isStale) return undefined;
        if (isFull || left() <= 0 || upTo === startOfTime) {
          this.#readBack.set(reading.projectId, { after: upTo, at: performance.now() });
          return undefined;
        }
        const isUrgent = slices++ < urgentSlices;
        if (!isUrgent && reading.isWaitedFor) return undefined;
        const mostBytes = Math.min(sliceBytes, Math.floor(left()));
        const from = upTo < endOfTime ? upTo : undefined;
        return { upTo: from, mostCalls: sliceCalls, mostBytes, isIdle: this.#isIdle, isUrgent };
      },
      add: (calls, after) => {
        if (reading.isStale) return false;
        const newer = [...newestBy(calls, ({ id }) => id).values()].filter((call) => this.#isNewer(call));
        isFull = bytesOf(newer) > left();
        if (isFull) return false;
        this.#add(newer, reading);
        if (reading.isStale) return false;
        // More calls start at one time than a slice has.
        isFull = after === upTo;
        upTo = after === "all" ? startOfTime : after;
        if (upTo < this.#horizonOf(projectId)) this.#setHorizon(reading.projectId, upTo);
        return true;
      },
      end: () => {
        this.#reading = undefined;
        void this.#pack();
      },
    };
  }

  /** Of one commit, whose rows are copied. */
  add(calls: readonly WrittenCall[]): void {
    this.#usedAt = performance.now();
    this.#add(calls, this.#written);
  }

  #add(calls: readonly WrittenCall[], adding: Adding): void {
    const size = calls.reduce((bytes, { row }) => bytes + row.length, 0);
    if (size > this.#limit) {
      for (const { project_id, started_at } of calls) {
        this.started(project_id, started_at);
        this.#changed(project_id);
      }
      return;
    }
    if (calls.length === 0) return;
    const block = plainBlock(joined(calls.map(({ row }) => row)));
    const group = this.#groupOf(adding);
    let at = 0;
    for (const call of calls) {
      const { project_id, trace_id, row } = call;
      const member = new Member(call, group, block, at);
      at += row.length;
      let project = this.#projects.get(project_id);
      if (project === undefined) this.#projects.set(copyText(project_id), (project = { ordered: [], added: [] }));
      project.added.push(member);
      let mine = group.projects.get(project_id);
      if (mine === undefined) group.projects.set(copyText(project_id), (mine = { calls: [], traces: new Map() }));
      mine.calls.push(member);
      const trace = mine.traces.get(trace_id);
      if (trace === undefined) mine.traces.set(copyText(trace_id), [member]);
      else trace.push(member);
    }
    const bytes = size + callBytes * calls.length;
    group.bytes += bytes;
    this.#bytes += bytes;
    void this.#pack();
    if (this.#bytes <= this.#limit) return;
    // What is being read back takes from others.
    for (const other of this.#groups.filter(({ by }) => by === this.#written || by !== adding)) {
      this.#forget(other);
      if (this.#bytes <= this.#limit) return;
    }
  }

  /** The versions of a call up to one that started then are replaced or deleted. */
  remove({ project_id, id }: CallKey, startedAt: bigint, upTo: bigint): void {
    this.#changed(project_id);
    for (const call of this.#startedAt(project_id, startedAt)) {
      if (call.id === id && call.version <= upTo) call.isGone = true;
    }
  }

  /** All calls of a project that started up to then are deleted. */
  removeUpTo(projectId: string, startedAt: bigint): void {
    this.#changed(projectId);
    for (const call of this.#ordered(projectId)) if (call.started_at <= startedAt) call.isGone = true;
  }

  /** A call that started then. */
  get({ project_id, id }: CallKey, startedAt: bigint): KeptCall | undefined {
    this.#usedAt = performance.now();
    return this.#startedAt(project_id, startedAt).find((call) => call.id === id && !call.isGone);
  }

  of(projectId: string): NewestOfProject {
    this.#usedAt = performance.now();
    const after = this.#horizonOf(projectId);
    return { after, isAll: after === startOfTime, calls: this.#ordered(projectId) };
  }

  /** The calls of a trace that are here, in no order. */
  ofTrace(projectId: string, traceId: string): KeptCall[] {
    const found: KeptCall[] = [];
    for (const { projects } of this.#groups) {
      for (const call of projects.get(projectId)?.traces.get(traceId) ?? []) if (!call.isGone) found.push(call);
    }
    return found;
  }

  #horizonOf(projectId: string): bigint {
    return this.#horizons.get(projectId) ?? this.#horizon;
  }

  #setHorizon(projectId: string, horizon: bigint): void {
    this.#horizons.set(projectId, horizon);
    if (this.#horizons.size <= maxHorizons) return;
    const ordered = [...this.#horizons.values()].toSorted((a, b) => (a < b ? -1 : Number(a > b)));
    this.startedUpTo(ordered[Math.floor(maxHorizons * 0.75)] ?? 0n);
  }

  /** What is being read of the project may be of before, or is not whole any more. */
  #changed(projectId: string): void {
    if (this.#reading?.projectId === projectId) this.#reading.isStale = true;
  }

  /** Whether a version of a call is not here; an older one then no longer counts. */
  #isNewer({ project_id, id, started_at, version }: ReadCall): boolean {
    for (const call of this.#startedAt(project_id, started_at)) {
      if (call.id !== id) continue;
      if (call.version >= version) return false;
      call.isGone = true;
    }
    return true;
  }

  #groupOf(adding: Adding): Group {
    if (adding.last !== undefined && !adding.last.isForgotten && adding.last.bytes < this.#limit * groupShare)
      return adding.last;
    const group: Group = { by: adding, projects: new Map(), bytes: 0, isForgotten: false, isPacked: false };
    adding.last = group;
    if (adding === this.#written) this.#groups.push(group);
    else this.#groups.unshift(group);
    return group;
  }

  get #isIdle(): boolean {
    return performance.now() - this.#usedAt > idleMs;
  }

  #bytesBy(adding: Adding): number {
    return this.#groups.reduce((bytes, group) => bytes + (group.by === adding ? group.bytes : 0), 0);
  }

  /** Packs one group after another while much of the memory is used: the newest ones first, which stay longest. */
  async #pack(): Promise<void> {
    if (this.#isPacking) return;
    this.#isPacking = true;
    try {
      for (;;) {
        const group = this.#toPack();
        if (group === undefined) return;
        let began = performance.now();
        await packGroup(group, async (bytes) => {
          group.bytes -= bytes;
          this.#bytes -= bytes;
          await this.#rest(performance.now() - began, this.#isIdle);
          began = performance.now();
        });
      }
    } catch {
      // What could not be packed stays as it is.
    } finally {
      this.#isPacking = false;
    }
  }

  #toPack(): Group | undefined {
    if (this.#bytes <= this.#limit * packedFrom) return undefined;
    let newer = 0;
    return this.#groups.findLast((group) => {
      const isOpen = group.by.last === group && (group.by === this.#written || group.by === this.#reading);
      const isOld = newer >= this.#limit * neverPacked;
      newer += group.bytes;
      return isOld && !isOpen && !group.isPacked && !group.isForgotten;
    });
  }

  #forget(group: Group): void {
    this.#groups = this.#groups.filter((other) => other !== group);
    group.isForgotten = true;
    this.#bytes -= group.bytes;
    for (const [projectId, { calls }] of group.projects) {
      const latest = calls.reduce((time, { started_at }) => (started_at > time ? started_at : time), 0n);
      this.started(projectId, latest);
      this.#changed(projectId);
      const project = this.#projects.get(projectId);
      if (project === undefined) continue;
      const stays = (call: Member) => call.group !== group;
      project.ordered = project.ordered.filter(stays);
      project.added = project.added.filter(stays);
      if (project.ordered.length + project.added.length === 0) this.#projects.delete(projectId);
    }
  }

  #ordered(projectId: string): Member[] {
    const project = this.#projects.get(projectId);
    if (project === undefined) return [];
    if (project.added.length > 0) {
      project.ordered = merged(project.ordered, project.added.toSorted(compareStarts));
      project.added = [];
    }
    return project.ordered;
  }

  #startedAt(projectId: string, startedAt: bigint): Member[] {
    const calls = this.#ordered(projectId);
    let [from, end] = [0, calls.length];
    while (from < end) {
      const middle = (from + end) >>> 1;
      if ((calls[middle]?.started_at ?? 0n) < startedAt) from = middle + 1;
      else end = middle;
    }
    let to = from;
    while (calls[to]?.started_at === startedAt) to++;
    return calls.slice(from, to);
  }
}

const bytesOf = (calls: ReadonlyArray<Pick<WrittenCall, "row">>): number =>
  calls.reduce((bytes, { row }) => bytes + callBytes + row.length, 0);

/** What is in order with what is added in order: what was written mostly comes after everything else, what was read back before. */
function merged(ordered: Member[], added: Member[]): Member[] {
  const [first, latest] = [ordered[0], added.at(-1)];
  if (first === undefined || latest === undefined || compareStarts(latest, first) < 0) return added.concat(ordered);
  let last = ordered.length - 1;
  let next = added.length - 1;
  ordered.length += added.length;
  for (let at = ordered.length - 1; next >= 0; at--) {
    const [before, one] = [ordered[last], added[next]];
    if (one === undefined) break;
    if (last >= 0 && before !== undefined && compareStarts(before, one) > 0) {
      ordered[at] = before;
      last--;
    } else {
      ordered[at] = one;
      next--;
    }
  }
  return ordered;
}
