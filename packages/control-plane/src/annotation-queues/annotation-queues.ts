import type { Database } from "../database/database.js";
import { annotatorStats } from "./annotators.js";
import type { AnnotatorStats } from "./annotators.js";
import { claimNext } from "./claims.js";
import type { Claim, ClaimRequest } from "./claims.js";
import { addItems, queryItems, queuedCallIds } from "./items.js";
import type { AddedItems, ItemQuery, NewItems } from "./items.js";
import { updateProgress } from "./progress.js";
import type { ProgressUpdate } from "./progress.js";
import { createQueue, deleteQueue, getQueue, isLive, queryQueues, queueStats, updateQueue } from "./queues.js";
import type { NewQueue, QueueChanges, QueueQuery, QueueStats } from "./queues.js";
import type { AnnotationQueue, AnnotationQueueItem } from "./records.js";
import { releaseItems } from "./release.js";
import type { ReleaseRequest } from "./release.js";
import { reopenItem } from "./reopen.js";
import type { Reopened, ReopenRequest } from "./reopen.js";

/**
 * Queues of calls that people annotate. Everything is looked for in the project given: what another project has is not
 * there. Where a queue is needed, one that is not there or was deleted is `not_found`.
 */
export interface AnnotationQueues {
  /** Makes a queue. Throws `unprocessable` for a name that cannot be kept. */
  create(queue: NewQueue): Promise<void>;
  /** The queues that are not deleted. Throws `invalid` for a page or an order that cannot be. */
  query(request: QueueQuery): Promise<AnnotationQueue[]>;
  get(projectId: string, queueId: string): Promise<AnnotationQueue>;
  update(projectId: string, queueId: string, changes: QueueChanges): Promise<AnnotationQueue>;
  /** Deletes a queue with its items. */
  delete(projectId: string, queueId: string): Promise<AnnotationQueue>;
  /** Whether the queue is there and not deleted. */
  isLive(projectId: string, queueId: string): Promise<boolean>;
  /** One entry for each id, in the order in which they are first named; zeros for queues that are not there. */
  stats(projectId: string, queueIds: readonly string[]): Promise<QueueStats[]>;
  /** Who has completed or skipped how many items of each queue, the most first; queues without any are absent. */
  annotators(projectId: string, queueIds: readonly string[]): Promise<Map<string, AnnotatorStats[]>>;
  /** Adds items to the end of a queue, all or none. A call that is in the queue is not added again. */
  addItems(request: NewItems): Promise<AddedItems>;
  /** Throws `too_large` for more than 10,000 items without a limit, `unprocessable` for an order that cannot be. */
  queryItems(request: ItemQuery): Promise<AnnotationQueueItem[]>;
  /** Ids of the calls in a queue, at most `limit` of them; none of a queue that is not there. */
  callIds(projectId: string, queueId: string, limit: number): Promise<string[]>;
  /** Throws `invalid` for an item that is not in the queue, and for a state that the annotator cannot set. */
  updateProgress(update: ProgressUpdate): Promise<AnnotationQueueItem>;
  /**
   * Takes back that an annotator has completed or skipped an item, which they have a claim on again; one that
   * they have not begun stays as it is. Throws `invalid` for an item that is not in the queue.
   */
  reopen(request: ReopenRequest): Promise<Reopened>;
  /** The next item for an annotator, who alone has it until a time; undefined when none is left. */
  claimNext(request: ClaimRequest): Promise<Claim | undefined>;
  /** Ends claims of an annotator on items, which others can claim from then on; returns how many had not run out. */
  release(request: ReleaseRequest): Promise<number>;
}

/** Claims are as long on the `steady` clock. */
export function openAnnotationQueues(database: Database, now: () => bigint, steady = now): AnnotationQueues {
  const moments = () => ({ now: now(), steady: steady() });
  return {
    create: async (queue) => await createQueue(database, queue, now()),
    query: async (request) => await queryQueues(database, request),
    get: async (projectId, queueId) => await getQueue(database, projectId, queueId),
    update: async (projectId, queueId, changes) => await updateQueue(database, projectId, queueId, changes, now()),
    delete: async (projectId, queueId) => await deleteQueue(database, projectId, queueId, now()),
    isLive: async (projectId, queueId) => await isLive(database, projectId, queueId),
    stats: async (projectId, queueIds) => await queueStats(database, projectId, queueIds),
    annotators: async (projectId, queueIds) => await annotatorStats(database, projectId, queueIds),
    addItems: async (request) => await addItems(database, request, now()),
    queryItems: async (request) => await queryItems(database, request),
    callIds: async (projectId, queueId, limit) => await queuedCallIds(database, projectId, queueId, limit),
    updateProgress: async (update) => await updateProgress(database, update, now()),
    reopen: async (request) => await reopenItem(database, request, moments()),
    claimNext: async (request) => await claimNext(database, request, moments()),
    release: async (request) => await releaseItems(database, request, moments()),
  };
}
