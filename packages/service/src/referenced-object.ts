import { HeddleError } from "@heddle/errors";
import { parseRef, projectIdOf } from "@heddle/trace-model";
import type { StoredObject } from "@heddle/trace-store";
import type { Services } from "./services.js";

/**
 * Reads the object that a ref names. Throws `invalid` for a text that is no ref of an object of this project, and
 * `not_found` for a version that does not exist or was deleted.
 */
export async function referencedObject(
  { store }: Pick<Services, "store">,
  projectId: string,
  ref: string,
): Promise<StoredObject> {
  const parsed = parseRef(ref);
  if (parsed === undefined || (parsed.kind !== "object" && parsed.kind !== "op") || parsed.edges.length > 0) {
    const form = `weave:///${projectId}/object/<name>:<digest>`;
    throw new HeddleError("invalid", `${JSON.stringify(ref.slice(0, 200))} is no ref of an object: write ${form}`);
  }
  if (projectIdOf(parsed) !== projectId) {
    throw new HeddleError("invalid", `${ref} is a ref of another project than ${projectId}`);
  }
  const found = await store.objects.read({
    project_id: projectId,
    object_id: parsed.name,
    digest: parsed.digest,
  });
  if (found.kind === parsed.kind) return found;
  throw new HeddleError("not_found", `${ref} does not exist: the name belongs to an ${found.kind}`);
}
