import type { JsonText } from "@heddle/exact-json";
import type { Computing } from "../computing/computing.js";
import { referencedObject } from "../objects/referenced-object.js";
import type { TraceStore } from "@heddle/trace-store";

/** The messages of a prompt object of the project. Throws as `referencedObject` does, and `invalid` for other objects. */
export async function loadPrompt(
  services: { store: TraceStore },
  projectId: string,
  { ref, computing }: { ref: string; computing: Computing },
): Promise<JsonText> {
  const { val, object_id: objectId } = await referencedObject(services, projectId, ref);
  return await computing.run("promptMessages", { objectId, val });
}
