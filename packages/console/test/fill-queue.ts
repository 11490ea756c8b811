// Fills a project of a running service with a queue of calls, and a field to judge them by.
import { randomUUID } from "node:crypto";
import type { createTracingClient } from "@heddle/client";

type Client = ReturnType<typeof createTracingClient>;

/** Writes a queue of so many items. Returns its id. */
export async function fillQueue(client: Client, projectId: string, count: number): Promise<string> {
  const [entity = "", project = ""] = projectId.split("/");
  const ids = Array.from({ length: count }, () => randomUUID());
  const at = new Date().toISOString();
  await client.callsComplete({
    entity,
    project,
    batch: ids.map((id, index) => ({
      project_id: projectId,
      id,
      trace_id: id,
      op_name: "answer",
      started_at: at,
      ended_at: at,
      attributes: {},
      inputs: { question: `Why is order ${index} late?` },
      output: `It left ${index} days ago.`,
      summary: {},
    })),
  });
  const { digest } = await client.objCreate({
    obj: {
      project_id: projectId,
      object_id: "right",
      builtin_object_class: "AnnotationSpec",
      val: { name: "Is it right?", field_schema: { type: "string", enum: ["yes", "no"] } },
    },
  });
  const { id: queueId } = await client.annotationQueueCreate({
    project_id: projectId,
    name: "Answers",
    description: "",
    scorer_refs: [`weave:///${projectId}/object/right:${digest}`],
  });
  await client.annotationQueueAddCalls({
    project_id: projectId,
    queue_id: queueId,
    call_ids: ids,
    display_fields: ["inputs.question", "output"],
  });
  return queueId;
}
