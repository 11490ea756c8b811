import { HeddleError } from "@heddle/errors";
import { parseVersionLabel } from "@heddle/trace-model";
import { noContent } from "../encoding/encode-value.js";
import type { StoreContext } from "../context.js";
import { labelsOf, writeLabels } from "./labels.js";
import type { Label } from "./labels.js";
import type { Among, DeletedObjects, ObjectDelete } from "./requests.js";
import { insertObjects } from "./rows.js";
import { allVersionsOf, isAmong, missingVersion } from "./versions.js";
import type { Version } from "./versions.js";

const maxDigests = 100;

/**
 * Deletes versions with their tags and aliases. All of the digests or none: one that is missing or deleted already is
 * `not_found`. What stays of a version is its index and when it was deleted.
 */
export async function deleteVersions(
  context: StoreContext,
  request: ObjectDelete,
  among?: Among,
): Promise<DeletedObjects> {
  const { project_id, object_id, digests } = request;
  if (digests !== undefined && digests.length > maxDigests) {
    throw new HeddleError("invalid", `at most ${maxDigests} digests at a time`, { loc: ["digests"] });
  }
  const { engine, clock, now } = context;
  const [all, tags, aliases] = await Promise.all([
    allVersionsOf(engine, [project_id], [object_id]),
    labelsOf(engine, "object_tags", [project_id], [object_id]),
    labelsOf(engine, "object_aliases", [project_id], [object_id]),
  ]);
  const versions = all.filter((version) => isAmong(version, among));
  const live = versions.filter(({ deleted_at }) => deleted_at === undefined);
  const first = live[0];
  if (first === undefined) throw missingVersion({ ...request, digest: "latest" }, versions[0]?.deleted_at);
  const chosen = digests === undefined ? live : digests.map((digest) => choose(request, versions, aliases, digest));
  const targets = [...new Set(chosen)];
  const isTarget = ({ kind, digest }: Label) => targets.some((one) => one.kind === kind && one.digest === digest);

  // Labels go first: after a crash in between, a version without labels is there, not a label without its version.
  await writeLabels(context, "object_tags", project_id, tags.filter(isTarget), true);
  await writeLabels(context, "object_aliases", project_id, aliases.filter(isTarget), true);
  const deletedAt = now();
  const emptied = { project_id, content: noContent, size_bytes: 0, deleted_at: deletedAt };
  await insertObjects(
    engine,
    targets.map((version) => ({ ...version, ...emptied, version: clock.next() })),
  );
  return {
    num_deleted: targets.length,
    deleted_versions: targets.map(({ digest, base_class, leaf_class }) => ({
      digest,
      base_object_class: base_class || null,
      leaf_object_class: leaf_class || null,
    })),
  };
}

/** `versions` come with the one published last first, which is the one a label means when it fits several. */
function choose(
  { project_id, object_id }: ObjectDelete,
  versions: readonly Version[],
  aliases: readonly Label[],
  label: string,
): Version {
  const wanted = parseVersionLabel(label);
  const fits = (version: Version): boolean => {
    if (wanted.by === "latest") return true;
    if (wanted.by === "index") return version.version_index === wanted.index;
    if (wanted.by === "digest") return version.digest === wanted.digest;
    return aliases.some(
      ({ kind, digest, label }) => label === wanted.alias && kind === version.kind && digest === version.digest,
    );
  };
  const found = versions.find((version) => version.deleted_at === undefined && fits(version));
  if (found !== undefined) return found;
  throw missingVersion({ project_id, object_id, digest: label }, versions.find(fits)?.deleted_at);
}
