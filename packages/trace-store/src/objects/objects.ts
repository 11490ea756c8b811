import type { ReadOptions, StoreContext } from "../context.js";
import { alreadyLatest, commitCreates } from "./create.js";
import type { PendingCreate } from "./create.js";
import { deleteVersions } from "./delete.js";
import { draftOf } from "./draft.js";
import { Heads, headKey } from "./heads.js";
import { changeTags, distinctLabels, removeAliases, setAliases } from "./labels.js";
import { queryObjects, readObject } from "./query.js";
import type {
  Among,
  CreatedObject,
  DeletedObjects,
  ObjectCreate,
  ObjectDelete,
  ObjectQuery,
  ObjectRead,
  StoredObject,
  VersionOf,
} from "./requests.js";
import { mutex } from "@heddle/concurrency";

/** Most drafts and bytes of values in one insert. */
const batchDrafts = 500;
const batchBytes = 16 * 1024 * 1024;

/**
 * Versioned values with labels. Requests carry no kind: a name may belong to an op and to another object, and both are
 * looked up. Versions that are missing or deleted are `not_found`, the latter with `deleted_at` in the details.
 */
export interface Objects {
  /**
   * Creates a version, or finds it: the same value under the same name is one version, which becomes the latest.
   * Throws `invalid`, also for a name that belongs to another class, or `conflict` for another digest than the expected.
   */
  create(request: ObjectCreate): Promise<CreatedObject>;
  /** With `among`, everything else under the name is passed over, also by labels. */
  read(request: ObjectRead, options?: ReadOptions & { among?: Among }): Promise<StoredObject>;
  query(request: ObjectQuery, options?: ReadOptions): Promise<StoredObject[]>;
  /** With `among`, everything else under the name stays. */
  delete(request: ObjectDelete, among?: Among): Promise<DeletedObjects>;
  addTags(request: VersionOf & { tags: readonly string[] }): Promise<void>;
  removeTags(request: VersionOf & { tags: readonly string[] }): Promise<void>;
  setAliases(request: VersionOf & { aliases: readonly string[] }): Promise<void>;
  removeAliases(request: { project_id: string; object_id: string; aliases: readonly string[] }): Promise<void>;
  /** Tags in use in the project, sorted. */
  listTags(projectId: string): Promise<string[]>;
  /** Aliases in use in the project, sorted; `latest` is not among them. */
  listAliases(projectId: string): Promise<string[]>;
  /** Drops what is remembered of stored objects: for when another process may have written them. */
  forget(): void;
}

/**
 * Writes of objects and labels exclude each other; creates that wait together are committed together. What is remembered
 * of objects is used while `isAlone` says that no other process can have written.
 */
export function openObjects(context: StoreContext, isAlone: () => boolean): Objects {
  const { engine } = context;
  const committing = { ...context, engine: context.commits };
  const heads = new Heads();
  const runExclusive = mutex();
  let pending: PendingCreate[] = [];

  async function commitPending(): Promise<void> {
    const batch = nextBatch(pending);
    pending = pending.slice(batch.length);
    if (batch.length > 0) await commitCreates(committing, heads, batch);
  }

  return {
    async create(request) {
      const draft = await draftOf(request);
      return (
        alreadyLatest(heads, draft) ??
        (await new Promise<CreatedObject>((resolve, reject) => {
          pending.push({ draft, resolve, reject });
          runExclusive(commitPending).catch(reject);
        }))
      );
    },
    read: async (request, options) => await readObject(engine, isAlone() ? heads : undefined, request, options),
    query: async (request, options) => await queryObjects(engine, request, options),
    delete: async (request, among) =>
      await runExclusive(async () => {
        try {
          return await deleteVersions(committing, request, among);
        } finally {
          for (const kind of ["object", "op"] as const) heads.forget(headKey({ ...request, kind }));
        }
      }),
    addTags: async (request) => await runExclusive(async () => await changeTags(committing, request, false)),
    removeTags: async (request) => await runExclusive(async () => await changeTags(committing, request, true)),
    setAliases: async (request) => await runExclusive(async () => await setAliases(committing, request)),
    removeAliases: async (request) => await runExclusive(async () => await removeAliases(committing, request)),
    listTags: async (projectId) => await distinctLabels(engine, "object_tags", projectId),
    listAliases: async (projectId) => await distinctLabels(engine, "object_aliases", projectId),
    forget: () => heads.forgetAll(),
  };
}

/** The first drafts of those that wait, as long as they are of one project and fit into one insert. */
function nextBatch(pending: readonly PendingCreate[]): PendingCreate[] {
  const batch: PendingCreate[] = [];
  let bytes = 0;
  for (const create of pending) {
    bytes += create.draft.size_bytes;
    const fits = batch.length < batchDrafts && bytes <= batchBytes;
    const sameProject = create.draft.project_id === pending[0]?.draft.project_id;
    if (batch.length > 0 && !(fits && sameProject)) break;
    batch.push(create);
  }
  return batch;
}
