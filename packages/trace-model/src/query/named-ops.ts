import { isContentDigest } from "../digest.js";
import { opObjectId, spanOpName } from "../refs/op-object.js";
import { opKey } from "../refs/op-name.js";
import { decodeRefPart, formatRef } from "../refs/ref.js";
import { refSpellings } from "../refs/spellings.js";

/** Ops that clients name: single versions by their whole `op_name`, and ops with all their versions by their `op_key`. */
export interface NamedOps {
  versions: string[];
  keys: string[];
  /** Versions of ops of the project that only what is stored can tell. */
  labels: OpLabel[];
}

/** A version by `v3`, `latest` or an alias. */
export interface OpLabel {
  label: string;
  /** What the object of the op may be called. */
  object_ids: string[];
  /** What the `op_key` of its calls may be. */
  keys: string[];
}

const refScheme = "weave:///";

/**
 * The ops that names mean. A ref with a version means that version, be it a digest, `v3`, `latest` or an alias; `ref:*` and a
 * ref without version every version. A bare name is that of an op of the project, of a span, or free text, and may have such
 * a version, too.
 */
export function namedOps(names: readonly string[], projectId: string): NamedOps {
  const ops: NamedOps = { versions: [], keys: [], labels: [] };
  for (const name of new Set(names)) addOps(ops, name, projectId);
  return { ...ops, versions: [...new Set(ops.versions)], keys: [...new Set(ops.keys)] };
}

function addOps(ops: NamedOps, name: string, projectId: string): void {
  const isRef = name.startsWith(refScheme);
  const { op, version } = parted(name);
  const keys = isRef ? refSpellings(op) : [...keysOf(op, projectId)];
  if (version === undefined || version === "*") ops.keys.push(...keys);
  if (version === "*") return;
  // Free text may have colons of its own.
  if (!isRef && version !== undefined) ops.keys.push(...keysOf(name, projectId));
  if (version === undefined) return;
  const refs = keys.filter((key) => key.startsWith(refScheme));
  ops.versions.push(...refs.map((key) => `${key}:${version}`));
  const called = isRef ? nameInProject(op, projectId) : op;
  if (called === undefined || isContentDigest(version)) return;
  const objectIds = [called, decodeRefPart(called) ?? called, opObjectId(called)];
  ops.labels.push({ label: version, object_ids: [...new Set(objectIds)], keys: refs });
}

/** The name of the op of a ref into the project. */
function nameInProject(ref: string, projectId: string): string | undefined {
  const [entity, project, kind, name] = ref.slice(refScheme.length).split("/").map(decodeRefPart);
  return kind === "op" && `${entity}/${project}` === projectId ? name : undefined;
}

/** The op and its version: what follows the last colon, in a ref that of its name. */
function parted(name: string): { op: string; version: string | undefined } {
  const colon = name.lastIndexOf(":");
  const isVersion = colon > Math.max(0, name.startsWith(refScheme) ? name.lastIndexOf("/op/") : 0);
  if (!isVersion || colon === name.length - 1) return { op: name, version: undefined };
  return { op: name.slice(0, colon), version: name.slice(colon + 1) };
}

/** Clients write names into refs raw or percent-encoded; the op of a span has an id made of the span's name. */
function keysOf(name: string, projectId: string): Set<string> {
  const [entity = "", project = ""] = projectId.split("/");
  const inRefs = (op: string) =>
    [
      `${refScheme}${projectId}/op/${op}`,
      opKey(formatRef({ kind: "op", entity, project, name: op, digest: "*", edges: [] })),
    ].flatMap(refSpellings);
  const storedName = spanOpName(name);
  const ofSpan = [storedName, ...inRefs(opObjectId(name))];
  // No op has a longer name than a span's, which is cut.
  return new Set(storedName === name ? [name, ...inRefs(name), ...ofSpan] : ofSpan);
}
