import { HeddleError } from "@heddle/errors";
import { externalRef, parseRef, projectIdOf } from "@heddle/trace-model";
import type { ProjectOf, Ref } from "@heddle/trace-model";

export type VersionRef = Extract<Ref, { kind: "object" | "op" }> & { uri: string };

/**
 * Reads the ref of a version of an object or op of a project. Throws `invalid` for anything else, also for refs into
 * other projects, whether or not the caller may read them.
 */
export function versionRef(
  text: string,
  { name, projectId, projectOf }: { name: string; projectId: string; projectOf: ProjectOf },
): VersionRef {
  const uri = externalRef(text, projectOf);
  const ref = parseRef(uri);
  const isVersion = (ref?.kind === "object" || ref?.kind === "op") && ref.digest !== "*" && ref.edges.length === 0;
  if (ref === undefined || !isVersion || projectIdOf(ref) !== projectId) {
    throw new HeddleError("invalid", `must be the ref of a version of an object or op of the project ${projectId}`, {
      loc: [name],
    });
  }
  return { ...ref, uri };
}
