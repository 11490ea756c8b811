import type { JsonText } from "@heddle/trace-model";
import type { Computing } from "../computing/computing.js";
import { referencedObject } from "../referenced-object.js";
import type { Services } from "../services.js";

/** The messages of a prompt object of the project. Throws as `referencedObject` does, and `invalid` for other objects. */
export async function loadPrompt(
  services: Pick<Services, "store">,
  projectId: string,
  { ref, computing }: { ref: string; computing: Computing },
): Promise<JsonText> {
  const { val, object_id: objectId } = await referencedObject(services, projectId, ref);
  return await computing.run("promptMessages", { objectId, val });
}
