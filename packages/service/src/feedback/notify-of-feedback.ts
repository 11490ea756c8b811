import type { ControlPlane } from "@heddle/control-plane";
import type { CreatedFeedback, NewFeedback, TraceStore } from "@heddle/trace-store";

/** Of one event; further ones of the same request are counted. */
const namedAtMost = 100;
/** Types of what the service notes itself, such as the training jobs of a call. */
const ownTypes = "heddle.";

/** The store, which also has feedback sent to the webhooks of its project. */
export function notifyOfFeedback(store: TraceStore, { webhooks }: ControlPlane): TraceStore {
  async function notify(given: readonly NewFeedback[], created: readonly CreatedFeedback[]): Promise<void> {
    const byProject = new Map<string, object[]>();
    for (const [at, { project_id, feedback_type, weave_ref }] of given.entries()) {
      if (feedback_type.startsWith(ownTypes)) continue;
      const list = byProject.get(project_id) ?? [];
      list.push({ id: created[at]?.id, feedback_type, weave_ref });
      byProject.set(project_id, list);
    }
    for (const [projectId, all] of byProject) {
      const data = { count: all.length, feedback: all.slice(0, namedAtMost) };
      await webhooks.notify({ project_id: projectId, type: "feedback.created", data });
    }
  }

  return {
    ...store,
    feedback: {
      ...store.feedback,
      async create(feedback) {
        const created = await store.feedback.create(feedback);
        await notify([feedback], [created]);
        return created;
      },
      async replace(request) {
        const created = await store.feedback.replace(request);
        await notify([request], [created]);
        return created;
      },
      async createBatch(list) {
        const created = await store.feedback.createBatch(list);
        await notify(list, created);
        return created;
      },
    },
  };
}
