import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";

/** Throws `invalid` unless the project has a live annotation queue with the id. */
export async function checkQueue(control: ControlPlane, projectId: string, queueId: string): Promise<void> {
  if (await control.annotationQueues.isLive(projectId, queueId)) return;
  throw new HeddleError("invalid", `there is no annotation queue ${queueId} in ${projectId}`, { loc: ["queue_id"] });
}
