import { parseVersionLabel, projectIdOf } from "@heddle/trace-model";
import type { Ref } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { labelsOf } from "../objects/labels.js";
import { allVersionsOf } from "../objects/versions.js";
import type { Version } from "../objects/versions.js";

export type ObjectRef = Extract<Ref, { kind: "object" | "op" }>;

/** Finds what the refs of one project mean; deleted versions included, undefined for what never was. */
export async function findVersions(
  engine: Engine,
  projectId: string,
  refs: readonly ObjectRef[],
): Promise<(ref: ObjectRef) => Version | undefined> {
  const byDigest = refs.filter(({ digest }) => parseVersionLabel(digest).by === "digest");
  const byLabel = refs.filter(({ digest }) => parseVersionLabel(digest).by !== "digest");
  const names = unique(byLabel.map(({ name }) => name));
  const [exact, labelled, aliases] = await Promise.all([
    byDigest.length === 0
      ? []
      : allVersionsOf(engine, projectId, unique(byDigest.map(({ name }) => name)), unique(byDigest.map(digestOf))),
    names.length === 0 ? [] : allVersionsOf(engine, projectId, names),
    names.length === 0 ? [] : labelsOf(engine, "object_aliases", projectId, names),
  ]);
  const aliased = new Map(
    aliases.map(({ kind, object_id, digest, label }) => [[kind, object_id, label].join("/"), digest]),
  );
  const versions = groupByName([...exact, ...labelled]);

  return ({ kind, name, digest }) => {
    const candidates = versions.get(name) ?? [];
    const wanted = parseVersionLabel(digest);
    // A digest implies the kind; a label is looked up among the versions of the ref's kind.
    if (wanted.by === "digest") return candidates.find((version) => version.digest === wanted.digest);
    const ofKind = candidates.filter((version) => version.kind === kind);
    const live = ofKind.filter(({ deleted_at }) => deleted_at === undefined);
    if (wanted.by === "latest") return live[0] ?? ofKind[0];
    if (wanted.by === "index") return ofKind.find(({ version_index }) => version_index === wanted.index);
    const target = aliased.get([kind, name, wanted.alias].join("/"));
    return live.find((version) => version.digest === target);
  };
}

export function projectsOf<T extends Ref>(refs: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const ref of refs) {
    const list = found.get(projectIdOf(ref));
    if (list === undefined) found.set(projectIdOf(ref), [ref]);
    else list.push(ref);
  }
  return found;
}

function groupByName(versions: readonly Version[]): Map<string, Version[]> {
  const found = new Map<string, Version[]>();
  for (const version of versions) {
    const list = found.get(version.object_id);
    if (list === undefined) found.set(version.object_id, [version]);
    else list.push(version);
  }
  return found;
}

function digestOf({ digest }: ObjectRef): string {
  return digest;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
