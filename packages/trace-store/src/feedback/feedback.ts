import type { ReadOptions, StoreContext } from "../context.js";
import { mutex } from "@heddle/concurrency";
import type { Engine } from "../engine/engine.js";
import { StatementError } from "../engine/statement-error.js";
import { purgedIds } from "../query/purge.js";
import { aggregateFeedback } from "./aggregate.js";
import type { FeedbackAggregate } from "./aggregate.js";
import { LostInserts } from "./lost-inserts.js";
import { payloadSchema } from "./payload-schema.js";
import type { PayloadPath } from "./payload-schema.js";
import { queryFeedback } from "./query.js";
import type {
  CreatedFeedback,
  FeedbackAggregateRequest,
  FeedbackPage,
  FeedbackPayloadSchemaRequest,
  FeedbackPurge,
  FeedbackQuery,
  FeedbackReplace,
  FeedbackStatsRequest,
  NewFeedback,
} from "./requests.js";
import { feedbackStats } from "./stats.js";
import type { FeedbackStats } from "./stats.js";
import { commitFeedback, pendingItems } from "./write.js";
import type { FeedbackChange, PendingChange } from "./write.js";

/** Feedback on calls and objects. Requests that cannot be carried out are `invalid` or `unprocessable`. */
export interface Feedback {
  /** Stores feedback, or finds the same under its id. Throws `conflict` for an id that other feedback has. */
  create(feedback: NewFeedback): Promise<CreatedFeedback>;
  /** The same for several pieces, all or none. Throws `invalid` for an id that occurs twice. */
  createBatch(feedback: readonly NewFeedback[]): Promise<CreatedFeedback[]>;
  /** Removes one piece, if it exists, and stores another. */
  replace(request: FeedbackReplace): Promise<CreatedFeedback>;
  /** Removes feedback by id; unknown ids are ignored. */
  purge(request: FeedbackPurge): Promise<void>;
  query(request: FeedbackQuery, options?: ReadOptions): Promise<FeedbackPage>;
  stats(request: FeedbackStatsRequest, options?: ReadOptions): Promise<FeedbackStats>;
  payloadSchema(request: FeedbackPayloadSchemaRequest, options?: ReadOptions): Promise<PayloadPath[]>;
  aggregate(request: FeedbackAggregateRequest, options?: ReadOptions): Promise<FeedbackAggregate>;
}

/** Most changes and bytes of payloads in one insert. */
const batchChanges = 500;
const batchBytes = 16 * 1024 * 1024;

/** Writes exclude each other; those that wait together are committed together. */
export function openFeedback(context: StoreContext): Feedback {
  const { engine } = context;
  const runExclusive = mutex();
  const lost = new LostInserts(context, runExclusive);
  let pending: PendingChange[] = [];

  async function commitPending(): Promise<void> {
    const batch = nextBatch(pending);
    pending = pending.slice(batch.length);
    if (batch.length === 0) return;
    const end = context.openWrites.begin();
    let isUnknown = false;
    const engine = noteLosses(context.commits, () => (isUnknown = true));
    await commitFeedback({ ...context, engine }, batch);
    if (isUnknown) lost.add(end);
    else end();
  }

  async function change(wanted: FeedbackChange): Promise<CreatedFeedback[]> {
    const items = pendingItems(wanted);
    return await new Promise((resolve, reject) => {
      pending.push({ ...wanted, ...items, resolve, reject });
      runExclusive(commitPending).catch(reject);
    });
  }

  async function createOne(feedback: NewFeedback, remove: FeedbackChange["remove"]): Promise<CreatedFeedback> {
    const [created] = await change({ create: [feedback], remove, locOf: () => [] });
    if (created === undefined) throw new Error("a change of one piece has one outcome");
    return created;
  }

  return {
    create: async (feedback) => await createOne(feedback, []),
    createBatch: async (create) => await change({ create, remove: [], locOf: (index) => [index] }),
    replace: async ({ feedback_id: id, ...feedback }) =>
      await createOne(feedback, [{ project_id: feedback.project_id, id }]),
    async purge({ project_id, query }) {
      const remove = purgedIds(query).map((id) => ({ project_id, id }));
      await change({ create: [], remove, locOf: () => [] });
    },
    query: async (request, options) => await queryFeedback(engine, request, options),
    stats: async (request, options) => await feedbackStats(context, request, options?.signal),
    payloadSchema: async (request, options) => await payloadSchema(context, request, options?.signal),
    aggregate: async (request, options) => await aggregateFeedback(context, request, options?.signal),
  };
}

/** Says when it is not known whether an insert was carried out. */
function noteLosses(engine: Engine, onLoss: () => void): Engine {
  return {
    ...engine,
    async insert(table, columns, rows) {
      try {
        await engine.insert(table, columns, rows);
      } catch (error) {
        if (!(error instanceof StatementError)) onLoss();
        throw error;
      }
    },
  };
}

function nextBatch(pending: readonly PendingChange[]): PendingChange[] {
  const batch: PendingChange[] = [];
  let bytes = 0;
  for (const one of pending) {
    bytes += one.bytes;
    if (batch.length === batchChanges || (batch.length > 0 && bytes > batchBytes)) break;
    batch.push(one);
  }
  return batch;
}
