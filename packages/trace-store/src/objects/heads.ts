import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { Draft } from "./draft.js";
import type { ObjectKind } from "./requests.js";
import { inProject } from "./versions.js";
import { newestRows } from "../schema/read-table.js";

/** The newest state of the versions of one name and kind. */
export interface Head {
  /** Greatest index ever used, deleted versions included; -1 before the first. */
  last_index: number;
  /** Of the live versions, which all have it; undefined when none is live. */
  base_class: string | undefined;
  latest_digest: string | undefined;
  latest_index: number;
  /** When the latest was published; 0 when none is live. */
  published_at: bigint;
}

export const noHead: Head = {
  last_index: -1,
  base_class: undefined,
  latest_digest: undefined,
  latest_index: -1,
  published_at: 0n,
};

const remembered = 50_000;

/**
 * What this process knows of heads. There is one writing process, and an entry changes only after its write is on disk,
 * so an entry is always true; when the outcome of a write is unknown it has to be forgotten.
 */
export class Heads {
  readonly #known = new Map<string, Head>();
  #changes = 0;

  get(key: string): Head | undefined {
    return this.#known.get(key);
  }

  set(key: string, head: Head): void {
    this.#changes++;
    this.#remember(key, head);
  }

  forget(key: string): void {
    this.#changes++;
    this.#known.delete(key);
  }

  forgetAll(): void {
    this.#changes++;
    this.#known.clear();
  }

  /** The heads of a name, read from the engine if need be, and then remembered unless a write may have changed them. */
  async ofName(engine: Engine, name: NameOf, signal?: AbortSignal): Promise<HeadsOfName> {
    const [objectKey, opKey] = [headKey({ ...name, kind: "object" }), headKey({ ...name, kind: "op" })];
    const [object, op] = [this.#known.get(objectKey), this.#known.get(opKey)];
    if (object !== undefined && op !== undefined) return { object, op };
    const changes = this.#changes;
    const loaded = await loadHeads(engine, name.project_id, [name.object_id], signal);
    if (changes === this.#changes) for (const [key, head] of loaded) this.#remember(key, head);
    return { object: loaded.get(objectKey) ?? noHead, op: loaded.get(opKey) ?? noHead };
  }

  #remember(key: string, head: Head): void {
    if (this.#known.size >= remembered) this.#known.clear();
    this.#known.set(key, head);
  }
}

/** Of the versions that are ops, and of the others. */
export type HeadsOfName = Record<ObjectKind, Head>;
type NameOf = Pick<Draft, "project_id" | "object_id">;

/** Whether a version of that digest is what `latest` means for the name, ops and other objects taken together. */
export function isLatestOfName(head: Head, other: Head, digest: string): boolean {
  return head.latest_digest === digest && head.published_at >= other.published_at;
}

/** The head of the same name's other kind. */
export function otherHeadKey(draft: Pick<Draft, "project_id" | "kind" | "object_id">): string {
  return headKey({ ...draft, kind: draft.kind === "op" ? "object" : "op" });
}

export function headKey({ project_id, kind, object_id }: Pick<Draft, "project_id" | "kind" | "object_id">): string {
  return `${project_id}\n${kind}\n${object_id}`;
}

/** The heads of names in one project as stored, of both kinds. */
export async function loadHeads(
  engine: Engine,
  projectId: string,
  objectIds: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Head>> {
  const p = new Parameters();
  const sql = `SELECT kind, object_id, max(version_index) AS last_index, countIf(deleted_at IS NULL) > 0 AS live,
      argMaxIf(base_class, (published_at, version_index), deleted_at IS NULL) AS base_class,
      argMaxIf(digest, (published_at, version_index), deleted_at IS NULL) AS latest_digest,
      argMaxIf(version_index, (published_at, version_index), deleted_at IS NULL) AS latest_index,
      maxIf(toUnixTimestamp64Micro(published_at), deleted_at IS NULL) AS published_us
    FROM ${newestRows("objects")} WHERE ${inProject(p, projectId)} AND ${p.in("object_id", "String", objectIds)}
    GROUP BY kind, object_id`;
  interface Row {
    kind: ObjectKind;
    object_id: string;
    last_index: number;
    live: number;
    base_class: string;
    latest_digest: string;
    latest_index: number;
    published_us: string;
  }
  const heads = new Map<string, Head>();
  for (const objectId of objectIds) {
    for (const kind of ["object", "op"] as const)
      heads.set(headKey({ project_id: projectId, kind, object_id: objectId }), noHead);
  }
  for (const row of await engine.rows<Row>({ sql, params: p }, { signal })) {
    const { last_index, base_class, latest_digest, latest_index } = row;
    const publishedAt = BigInt(row.published_us);
    const live = row.live === 1 ? { base_class, latest_digest, latest_index, published_at: publishedAt } : {};
    heads.set(headKey({ ...row, project_id: projectId }), { ...noHead, last_index, ...live });
  }
  return heads;
}
