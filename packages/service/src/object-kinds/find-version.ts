import { HeddleError } from "@heddle/errors";
import { parseRef, projectIdOf } from "@heddle/trace-model";
import type { StoredObject, TraceStore } from "@heddle/trace-store";

/**
 * Returns the version that a ref means in a project; undefined when the text is no ref to an object or op of the project,
 * when it leads into one, and when there is no such version.
 */
export async function findVersion(
  store: TraceStore,
  projectId: string,
  ref: string,
): Promise<StoredObject | undefined> {
  try {
    return await requireVersion(store, projectId, ref);
  } catch (error) {
    if (error instanceof HeddleError && (error.code === "invalid" || error.code === "not_found")) return undefined;
    throw error;
  }
}

/** As `findVersion`, but throws `invalid` for what is no such ref and `not_found` when there is no such version. */
export async function requireVersion(store: TraceStore, projectId: string, ref: string): Promise<StoredObject> {
  const target = parseRef(ref);
  const isVersion = (target?.kind === "object" || target?.kind === "op") && target.digest !== "*";
  if (!isVersion || target.edges.length > 0 || projectIdOf(target) !== projectId) {
    throw new HeddleError("invalid", `must be the ref of a version in ${projectId}`, { loc: [] });
  }
  const { kind, name, digest } = target;
  return await store.objects.read({ project_id: projectId, object_id: name, digest }, { kind });
}
