import { HeddleError } from "@heddle/errors";
import { formatRef, parseRef, projectIdOf } from "@heddle/trace-model";
import type { StoredObject, TraceStore } from "@heddle/trace-store";
import { splitProject } from "../access/project-id.js";

/**
 * Reads the version of an object or op that a ref names. Throws `invalid` for a text that is not such a ref, or one of another
 * project, and `not_found` for a version that does not exist or was deleted.
 */
export async function referencedObject(
  { store }: { store: TraceStore },
  projectId: string,
  ref: string,
): Promise<StoredObject> {
  const parsed = parseRef(ref);
  const quoted = JSON.stringify(ref.slice(0, 200));
  const isVersion = (parsed?.kind === "object" || parsed?.kind === "op") && parsed.digest !== "*";
  if (!isVersion || parsed.edges.length > 0) {
    const form = `weave:///${projectId}/object/<name>:<digest>`;
    throw new HeddleError("invalid", `${quoted} is not a ref of an object: write ${form}`, { loc: [] });
  }
  if (projectIdOf(parsed) !== projectId) {
    throw new HeddleError("invalid", `${quoted} is a ref of another project than ${projectId}`, { loc: [] });
  }
  const { kind, name, digest } = parsed;
  return await store.objects.read({ project_id: projectId, object_id: name, digest }, { among: { kind } });
}

/** The ref of the version by its content digest. */
export function versionRef({ project_id, object_id, digest, kind }: StoredObject): string {
  const { entity = "", project = "" } = splitProject(project_id) ?? {};
  return formatRef({ kind, entity, project, name: object_id, digest, edges: [] });
}
