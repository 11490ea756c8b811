import type { Database } from "../database/database.js";
import { deleteAlias, setAlias } from "./aliases.js";
import type { AliasOf } from "./aliases.js";
import { deleteCollection, getCollection, pageCollections } from "./collections.js";
import type { CollectionPage } from "./collections.js";
import { commitVersion } from "./commit-version.js";
import type { CommittedVersion, RepeatableVersion } from "./commit-version.js";
import { addUpload, contentsInUse, findContents, findContentsByMd5, forgetUploads } from "./contents.js";
import { describeVersion } from "./describe-version.js";
import type { VersionDescription } from "./describe-version.js";
import { openArtifactDrafts } from "./drafts.js";
import type { ArtifactDrafts } from "./drafts.js";
import type { ArtifactCollection, ArtifactContent, ArtifactFile, ArtifactVersion } from "./records.js";
import { deleteVersion, getFile, getVersion, getVersionById, listFiles, pageVersions } from "./versions.js";
import type { FilePage, VersionPage } from "./versions.js";

/**
 * Named, versioned lists of files: data sets and trained weights. The bytes are in the blob store; they are put there
 * before they are named here. Everything is looked for in the project given: what another project has is not there.
 */
export interface Artifacts {
  /** Records that a project has sent content, which is durable in the blob store. */
  addUpload(projectId: string, content: ArtifactContent): Promise<void>;
  /** Those of the contents that the project has sent or has in a version, by SHA-256. */
  findContents(projectId: string, digests: readonly string[]): Promise<Map<string, ArtifactContent>>;
  /** The same by MD5, as some clients name content. */
  findContentsByMd5(projectId: string, digests: readonly string[]): Promise<Map<string, ArtifactContent>>;
  drafts: ArtifactDrafts;
  /**
   * Makes a version of contents that the project has. Throws `unprocessable` for names, paths and aliases that cannot
   * be and for content that the project does not have, `conflict` for a collection of another type and for the retry id of
   * another request, and `too_large`.
   */
  commit(version: RepeatableVersion): Promise<CommittedVersion>;
  getCollection(projectId: string, name: string): Promise<ArtifactCollection | undefined>;
  /** In the order of their creation. Throws `invalid` for a cursor that names no collection of the project. */
  pageCollections(page: CollectionPage): Promise<{ collections: ArtifactCollection[]; has_more: boolean }>;
  /**
   * Deletes a collection with all of its versions; returns false when there is none. Throws `conflict` while one of them is
   * a checkpoint of a model that is not deleted.
   */
  deleteCollection(projectId: string, name: string): Promise<boolean>;
  /**
   * The version that a selector names: `v<index>`, an alias, or a digest, of several versions with it the newest.
   * Without a selector the newest one.
   */
  get(projectId: string, name: string, selector?: string): Promise<ArtifactVersion | undefined>;
  /** Of any project: the caller checks that it may read `project_id` of the result. */
  byId(id: string): Promise<ArtifactVersion | undefined>;
  /** In the order of their indices. Throws `not_found`, and `invalid` for a cursor that names no version of it. */
  page(page: VersionPage): Promise<{ versions: ArtifactVersion[]; has_more: boolean }>;
  /** In the order of their paths. */
  listFiles(page: FilePage): Promise<ArtifactFile[]>;
  getFile(versionId: string, path: string): Promise<ArtifactFile | undefined>;
  /**
   * Throws `not_found`, and `conflict` for a checkpoint of a model that is not deleted. `latest` passes to the newest
   * version that is left.
   */
  delete(projectId: string, name: string, selector: string): Promise<ArtifactVersion>;
  /** Replaces the description or the metadata of a version. Throws `not_found`, and `too_large`. */
  describe(
    version: Pick<ArtifactVersion, "project_id" | "collection" | "index">,
    description: VersionDescription,
  ): Promise<ArtifactVersion>;
  /** Moves an alias to the version that the selector names. Throws `not_found`, and `unprocessable` for `latest`. */
  setAlias(alias: AliasOf, selector: string): Promise<ArtifactVersion>;
  /** Throws `not_found`, and `unprocessable` for `latest`. */
  deleteAlias(alias: AliasOf): Promise<void>;
  /** Those of the digests whose content any project has sent or has in a version. */
  contentsInUse(digests: readonly string[]): Promise<Set<string>>;
  /** Forgets what was sent before a time, in microseconds since 1970; the versions that name it keep it. */
  forgetUploads(before: bigint): Promise<void>;
}

export function openArtifacts(database: Database, now: () => bigint): Artifacts {
  return {
    addUpload: async (projectId, content) => await addUpload(database, projectId, content, now()),
    findContents: async (projectId, digests) => await findContents(database, projectId, digests),
    findContentsByMd5: async (projectId, digests) => await findContentsByMd5(database, projectId, digests),
    drafts: openArtifactDrafts(database, now),
    commit: async (version) => await commitVersion(database, version, now),
    getCollection: async (projectId, name) => await getCollection(database, projectId, name),
    pageCollections: async (page) => await pageCollections(database, page),
    deleteCollection: async (projectId, name) => await deleteCollection(database, projectId, name),
    get: async (projectId, name, selector) => await getVersion(database, projectId, name, selector),
    byId: async (id) => await getVersionById(database, id),
    page: async (page) => await pageVersions(database, page),
    listFiles: async (page) => await listFiles(database, page),
    getFile: async (versionId, path) => await getFile(database, versionId, path),
    delete: async (projectId, name, selector) => await deleteVersion(database, projectId, name, selector),
    describe: async (version, description) => await describeVersion(database, version, description),
    setAlias: async (alias, selector) => await setAlias(database, alias, selector),
    deleteAlias: async (alias) => await deleteAlias(database, alias),
    contentsInUse: async (digests) => await contentsInUse(database, digests),
    forgetUploads: async (before) => await forgetUploads(database, before),
  };
}
