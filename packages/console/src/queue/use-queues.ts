import { annotationQueueRead, annotationQueuesQueryStream, annotationQueuesStats } from "@heddle/client/tracing";
import type { AnnotationQueueSchema, AnnotationQueueStats } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";

/** Queues that a list has at most: so many are counted in one request. */
export const mostQueues = 1000;
const refreshMs = 10_000;

export interface QueueRow {
  queue: AnnotationQueueSchema;
  stats: AnnotationQueueStats | undefined;
}

export const queuesRequest = (projectId: string) => ({ project_id: projectId, limit: mostQueues });

/** The queues of a project with how far they are, newest first. */
export function useQueues(projectId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["queue-rows", projectId],
    queryFn: async ({ signal }): Promise<QueueRow[]> => {
      const queues: AnnotationQueueSchema[] = [];
      for await (const queue of annotationQueuesQueryStream(session.connection, queuesRequest(projectId), { signal }))
        queues.push(queue);
      if (queues.length === 0) return [];
      const ids = queues.map(({ id }) => id);
      const request = { project_id: projectId, queue_ids: ids, include_annotators: true };
      const { stats } = await annotationQueuesStats(session.connection, request, { signal });
      const byId = new Map(stats.map((of) => [of.queue_id, of]));
      return queues.map((queue) => ({ queue, stats: byId.get(queue.id) }));
    },
    refetchInterval: refreshMs,
  });
}

/** A queue. */
export function useQueue(projectId: string, queueId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["queue", projectId, queueId],
    queryFn: async ({ signal }) => {
      const of = { project_id: projectId, queue_id: queueId };
      return (await annotationQueueRead(session.connection, of, { signal })).queue;
    },
    staleTime: 60_000,
  });
}

/** How far a queue is, and who did how many. */
export function useQueueStats(projectId: string, queueId: string) {
  const session = useSession();
  return useQuery({
    queryKey: ["queue-stats", projectId, queueId],
    queryFn: async ({ signal }) => {
      const request = { project_id: projectId, queue_ids: [queueId], include_annotators: true };
      return (await annotationQueuesStats(session.connection, request, { signal })).stats[0];
    },
    refetchInterval: refreshMs,
  });
}
