import type { CallKey } from "./call-key.js";
import type { StartSide } from "./call-sides.js";
import type { HiddenCall } from "./hidden-call.js";
import type { KeptCall, NewestOfProject, ReadBack } from "./kept-call.js";
import type { OpenSide } from "./call-sides.js";

/** The only calls that a read can find: those with these ids, in these traces. */
export interface WhichCalls {
  ids?: readonly string[];
  traceIds?: readonly string[];
}

/**
 * Microseconds for which a project keeps its calls, counted from their start; undefined keeps them indefinitely. `stored` where
 * only the table of settings tells.
 */
export type RetentionUs = bigint | "stored" | undefined;

export interface EndWatch {
  /** Ends the watch. True when calls may have ended since it began. */
  stop(): boolean;
}

/**
 * What a reader must know of writes that are under way. Read it inside the statement function, that is when the
 * statement is handed to the engine, not when it is built.
 */
export interface InFlight {
  /**
   * Ids whose complete row is being written while its open start or an older version is still visible.
   * Filled before the first insert of a commit and emptied after the last one, so the complete row may or may not be
   * there yet: leave out the open start, or the older version, only when the same statement finds a newer row in `calls`.
   */
  closing(projectId: string): ReadonlySet<string>;
  /**
   * Watches whether calls of the project end, which moves them from one table to the other; undefined while some are
   * ending, or another process may end them.
   */
  watchEnds(projectId: string): EndWatch | undefined;
  /** True while calls of the project may not have ended: any of them, or one of these. */
  mayRun(projectId: string, which?: WhichCalls): boolean;
  /** How many calls of the project run, all of its commits being done; undefined while memory does not know. */
  running(projectId: string): number | undefined;
  /**
   * The starts of all running calls of the project by the id of their call, deleted ones among them; undefined when memory
   * does not have all of them. A call that is ending may be complete already.
   */
  runningStarts(projectId: string): ReadonlyMap<string, OpenSide<StartSide>> | undefined;
  /** When a complete call started, as far as memory knows; undefined while a commit may give it another time. */
  startedAt(call: CallKey): bigint | undefined;
  /** A complete call, if memory has it whole; undefined while a commit replaces it. */
  kept(call: CallKey): KeptCall | undefined;
  /** The newest complete calls of the project; undefined while memory may lack some. */
  newest(projectId: string): NewestOfProject | undefined;
  /** Those of them that memory has of a trace, in no order; as a whole only those that started after `newest().after`. */
  keptOfTrace(projectId: string, traceId: string): readonly KeptCall[];
  /** Begins to read back into memory what the tables have of the newest calls of a project; undefined where that is of no use now. */
  readBack(projectId: string): ReadBack | undefined;
  /**
   * The calls of the project of which readers must not see some or all versions, by id; undefined when only `call_hidden`
   * knows them.
   */
  hidden(projectId: string): ReadonlyMap<string, HiddenCall> | undefined;
  /** True when `call_names` may hold a name for a call of the project. */
  hasNames(projectId: string): boolean;
  /** How many rows `calls` has at most, of all projects. */
  mostRows(): number;
  /** Up to which version `call_ids` says where every complete call is; undefined before it is filled. */
  indexedUpTo(): bigint | undefined;
  /** For how long the project keeps its calls. */
  retentionUs(projectId: string): RetentionUs;
}
