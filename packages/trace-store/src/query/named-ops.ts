import { formatRef, opKey, opObjectId, refSpellings, spanOpName } from "@heddle/trace-model";

/** Ops of a filter: single versions by their whole `op_name`, and ops with all their versions by their `op_key`. */
export interface NamedOps {
  versions: string[];
  keys: string[];
}

/**
 * The ops that entries of a filter mean. A ref with a version means that version, `ref:*` and a ref without version every
 * version. A bare name, with or without `:*`, is the name of an op of the project, of a span, or free text.
 */
export function namedOps(entries: readonly string[], projectId: string): NamedOps {
  const ops: NamedOps = { versions: [], keys: [] };
  for (const entry of entries) {
    const name = entry.endsWith(":*") ? entry.slice(0, -":*".length) : entry;
    if (!name.startsWith("weave:///")) ops.keys.push(...keysOf(name, projectId));
    else if (name === entry && hasVersion(name)) ops.versions.push(...refSpellings(name));
    else ops.keys.push(...refSpellings(name));
  }
  return ops;
}

/** Clients write names into refs raw or percent-encoded; the op of a span has an id made of the span's name. */
function keysOf(name: string, projectId: string): Set<string> {
  const [entity = "", project = ""] = projectId.split("/");
  const inRefs = (op: string) =>
    [
      `weave:///${projectId}/op/${op}`,
      opKey(formatRef({ kind: "op", entity, project, name: op, digest: "*", edges: [] })),
    ].flatMap(refSpellings);
  const storedName = spanOpName(name);
  const ofSpan = [storedName, ...inRefs(opObjectId(name))];
  // No op has a longer name than a span's, which is cut.
  return new Set(storedName === name ? [name, ...inRefs(name), ...ofSpan] : ofSpan);
}

function hasVersion(ref: string): boolean {
  return ref.lastIndexOf(":") > ref.lastIndexOf("/op/");
}
