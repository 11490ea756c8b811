import type { QueuedCall } from "@heddle/control-plane";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { derivedId, externalRef, formatTime, newId } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";
import { MatchingActions } from "../matching/act-on-matching.js";
import { callsById } from "../matching/calls-by-id.js";
import type { Caller, Services } from "../services.js";
import { wireItem, wireQueue, wireTimeOf } from "../wire/annotation-queue.js";
import { internalProjects } from "../wire/internal-refs.js";
import { readQueuedCalls } from "../wire/queued-calls.js";

export function annotationQueueHandlers({ control, store }: Services): TracingHandlers<Caller>["annotationQueues"] {
  const queues = control.annotationQueues;
  const matching = new MatchingActions({ control, store });

  async function externalScorers(caller: Caller, refs: readonly string[]): Promise<string[]> {
    const projectOf = await internalProjects(control, caller, refs);
    return refs.map((ref) => externalRef(ref, projectOf));
  }

  async function addItems(
    queueId: string,
    { project_id, display_fields }: { project_id: string; display_fields: string[] },
    { found, added_by }: { found: readonly QueuedCall[]; added_by: string },
  ) {
    // Ids that sort like the calls.
    const ids = found.map(() => newId()).toSorted();
    const items = found.map((call, at) => ({ ...call, id: ids[at] ?? "" }));
    return await queues.addItems({ project_id, queue_id: queueId, display_fields, added_by, items });
  }

  return {
    async annotationQueueCreate({ body, headers }, caller) {
      const { project_id, name, description } = body;
      const retryId = headers["X-Weave-Retry-Id"];
      const id = retryId === undefined ? newId() : derivedId(project_id, retryId, 0, "annotation_queue");
      const scorerRefs = await externalScorers(caller, body.scorer_refs);
      await queues.create({ id, project_id, name, description, scorer_refs: scorerRefs, created_by: caller.user_id });
      return { id };
    },

    async *annotationQueuesQueryStream({ body }) {
      for (const queue of await queues.query(body)) yield wireQueue(queue);
    },

    async annotationQueueRead({ params, query }) {
      return { queue: wireQueue(await queues.get(query.project_id, params.queue_id)) };
    },

    async annotationQueueUpdate({ params, body }, caller) {
      const { project_id, name, description } = body;
      const scorerRefs = body.scorer_refs && (await externalScorers(caller, body.scorer_refs));
      const changes = { name, description, scorer_refs: scorerRefs };
      return { queue: wireQueue(await queues.update(project_id, params.queue_id, changes)) };
    },

    async annotationQueueDelete({ params, query }) {
      return { queue: wireQueue(await queues.delete(query.project_id, params.queue_id)) };
    },

    async annotationQueueAddCalls({ params, body, signal }, caller) {
      const { project_id, call_ids } = body;
      const known = new Map<string, QueuedCall>();
      // A filter without ids would be none.
      if (call_ids.length > 0) {
        const request = { project_id, filter: { call_ids }, columns: ["ended_at"] };
        for await (const call of store.calls.query(request, { signal })) known.set(call.id, queuedCall(call));
      }
      const found = call_ids.map((id) => known.get(id)).filter((call) => call !== undefined);
      const { added, duplicates } = await addItems(params.queue_id, body, { found, added_by: caller.user_id });
      return { added_count: added, duplicates };
    },

    async annotationQueueAddMatching({ params, body, headers, signal }, caller) {
      const { project_id } = body;
      const request = { project_id, operation: "annotationQueueAddMatching", body, parameters: params, signal };
      return await matching.carryOut(
        { ...request, retryId: headers["X-Weave-Retry-Id"] },
        {
          basis: async () => void (await queues.get(project_id, params.queue_id)),
          async act(ids) {
            const found: QueuedCall[] = [];
            for await (const calls of callsById(store, project_id, { ids, columns: ["ended_at"], signal })) {
              found.push(...calls.map(queuedCall));
            }
            const { added, duplicates } = await addItems(params.queue_id, body, { found, added_by: caller.user_id });
            return { done: added, skipped: { in_queue: duplicates, gone: ids.length - found.length } };
          },
        },
      );
    },

    async annotationQueueItemsQuery({ params, body, signal }) {
      const items = await queues.queryItems({ ...body, ...params });
      const calls = await readQueuedCalls(store, body, items, signal);
      return { items: items.map((item) => wireItem(item, calls)) };
    },

    async annotationQueuesStats({ body }) {
      const { project_id, queue_ids, include_annotators } = body;
      const stats = await queues.stats(project_id, queue_ids);
      if (!include_annotators) return { stats };
      const annotators = await queues.annotators(project_id, queue_ids);
      return { stats: stats.map((of) => ({ ...of, annotators: annotators.get(of.queue_id) ?? [] })) };
    },

    async annotationQueueClaimNext({ params, body, signal }, caller) {
      const { project_id, filter, except, lease_seconds, include_display_values } = body;
      const claim = await queues.claimNext({
        project_id,
        queue_id: params.queue_id,
        annotator_user_id: caller.user_id,
        filter,
        except,
        lease_us: BigInt(lease_seconds) * 1_000_000n,
      });
      if (claim === undefined) return { item: null, claimed_until: null };
      const calls = await readQueuedCalls(store, { project_id, include_display_values }, [claim.item], signal);
      return { item: wireItem(claim.item, calls), claimed_until: formatTime(claim.claimed_until) };
    },

    async annotationQueueItemsRelease({ params, body }, caller) {
      return {
        released_count: await queues.release({ ...body, ...params, annotator_user_id: caller.user_id }),
      };
    },

    async annotationQueueItemReopen({ params, body }, caller) {
      const { project_id, lease_seconds } = body;
      const claim = await queues.reopen({
        project_id,
        ...params,
        annotator_user_id: caller.user_id,
        lease_us: BigInt(lease_seconds) * 1_000_000n,
      });
      return { item: wireItem(claim.item), claimed_until: wireTimeOf(claim.claimed_until) };
    },

    async annotationQueueItemProgressUpdate({ params, body }, caller) {
      const { project_id, annotation_state } = body;
      const update = { project_id, annotation_state, ...params, annotator_user_id: caller.user_id };
      return { item: wireItem(await queues.updateProgress(update)) };
    },
  };
}

function queuedCall({ id, started_at, ended_at, op_name, trace_id }: StoredCall): QueuedCall {
  return {
    call_id: id,
    call_started_at: started_at,
    call_ended_at: ended_at,
    call_op_name: op_name,
    call_trace_id: trace_id,
  };
}
