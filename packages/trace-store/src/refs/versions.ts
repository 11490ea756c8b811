import { parseVersionLabel, projectIdOf } from "@heddle/trace-model";
import type { Ref } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { labelsOf } from "../objects/labels.js";
import { allVersionsOf } from "../objects/versions.js";
import type { Version } from "../objects/versions.js";

export type ObjectRef = Extract<Ref, { kind: "object" | "op" }>;

/** Finds what refs into any projects mean; deleted versions included, undefined for what never was. */
export async function findVersions(
  engine: Engine,
  refs: readonly ObjectRef[],
  signal: AbortSignal | undefined,
): Promise<(ref: ObjectRef) => Version | undefined> {
  const byDigest = refs.filter(({ digest }) => parseVersionLabel(digest).by === "digest");
  const byLabel = refs.filter(({ digest }) => parseVersionLabel(digest).by !== "digest");
  const names = unique(byLabel.map(nameOf));
  const projects = unique(byLabel.map(projectIdOf));
  const [exact, labelled, aliases] = await Promise.all([
    byDigest.length === 0
      ? []
      : allVersionsOf(engine, unique(byDigest.map(projectIdOf)), unique(byDigest.map(nameOf)), {
          digests: unique(byDigest.map(digestOf)),
          signal,
        }),
    names.length === 0 ? [] : allVersionsOf(engine, projects, names, { signal }),
    names.length === 0 ? [] : labelsOf(engine, "object_aliases", projects, names, signal),
  ]);
  const aliased = new Map(
    aliases.map(({ project_id, kind, object_id, digest, label }) => [
      [project_id, kind, object_id, label].join("/"),
      digest,
    ]),
  );
  const versions = groupByName([...exact, ...labelled]);

  return (ref) => {
    const { kind, name, digest } = ref;
    const candidates = versions.get(`${projectIdOf(ref)}/${name}`) ?? [];
    const wanted = parseVersionLabel(digest);
    // A digest implies the kind; a label is looked up among the versions of the ref's kind.
    if (wanted.by === "digest") return candidates.find((version) => version.digest === wanted.digest);
    const ofKind = candidates.filter((version) => version.kind === kind);
    const live = ofKind.filter(({ deleted_at }) => deleted_at === undefined);
    if (wanted.by === "latest") return live[0] ?? ofKind[0];
    if (wanted.by === "index") return ofKind.find(({ version_index }) => version_index === wanted.index);
    const target = aliased.get([projectIdOf(ref), kind, name, wanted.alias].join("/"));
    return live.find((version) => version.digest === target);
  };
}

function groupByName(versions: readonly Version[]): Map<string, Version[]> {
  const found = new Map<string, Version[]>();
  for (const version of versions) {
    const key = `${version.project_id}/${version.object_id}`;
    const list = found.get(key);
    if (list === undefined) found.set(key, [version]);
    else list.push(version);
  }
  return found;
}

function nameOf({ name }: ObjectRef): string {
  return name;
}

function digestOf({ digest }: ObjectRef): string {
  return digest;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
