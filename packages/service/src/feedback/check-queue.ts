import { HeddleError } from "@heddle/errors";

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Throws `invalid` unless feedback of the project may name the annotation queue. */
export async function checkQueue(_projectId: string, queueId: string): Promise<void> {
  if (uuid.test(queueId)) return;
  throw new HeddleError("invalid", "must be the id of an annotation queue", { loc: ["queue_id"] });
}
