import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { RowWriter } from "../engine/row-writer.js";
import type { StoreContext } from "../context.js";
import { allRows, newestRows } from "../schema/read-table.js";

/** A file of a project. Its bytes are in the blob store under `blob_key`, shared by all projects that have them. */
export interface StoredFile {
  /** Of the bytes, as clients compute it (`fileDigest` of the trace model). */
  digest: string;
  name: string;
  size_bytes: number;
  /** Media type; empty when the client named none. */
  mime: string;
  blob_key: string;
}

interface FileOf {
  project_id: string;
  digest: string;
}

interface FilesOf {
  project_id: string;
  digests: readonly string[];
}

export interface Files {
  /** Makes a blob a file of the project. The first name stays; adding a file again costs next to nothing. */
  add(file: StoredFile & { project_id: string }): Promise<void>;
  get(request: FileOf): Promise<StoredFile | undefined>;
  /** Those of the files that the project has, by digest. */
  find(request: FilesOf): Promise<Map<string, StoredFile>>;
  /** Those of the blobs that are files of any project. */
  blobsInUse(keys: readonly string[]): Promise<Set<string>>;
  /** Whether any project has a file. */
  exist(): Promise<boolean>;
  /** Bytes of all files of the project. */
  totalSize(projectId: string): Promise<number>;
}

const remembered = 50_000;

export function openFiles({ engine, writes }: StoreContext): Files {
  // Clients upload the same source file for every op instance. Files never go away, so what was seen stays true.
  const seen = new Set<string>();

  async function find(by: Engine, { project_id, digests }: FilesOf): Promise<Map<string, StoredFile>> {
    if (digests.length === 0) return new Map();
    const p = new Parameters();
    const sql = `SELECT digest, name, size_bytes, mime, blob_key FROM ${allRows("files")}
      WHERE project_id = ${p.bind("String", project_id)} AND ${p.in("digest", "String", digests)}
      ORDER BY created_at LIMIT 1 BY digest`;
    const rows = await by.rows<StoredFile & { size_bytes: string }>({ sql, params: p });
    return new Map(rows.map((row) => [row.digest, { ...row, size_bytes: Number(row.size_bytes) }]));
  }
  const get = async (by: Engine, { project_id, digest }: FileOf) =>
    (await find(by, { project_id, digests: [digest] })).get(digest);

  return {
    async add(file) {
      const { project_id, digest, name, size_bytes, mime, blob_key } = file;
      const key = `${project_id}\n${digest}`;
      if (seen.has(key)) return;
      if ((await get(writes, file)) === undefined) {
        const writer = new RowWriter();
        const row = writer.rowOf(() => {
          for (const text of [project_id, digest, name, mime, blob_key]) writer.text(text);
          writer.integer(size_bytes);
        });
        await writes.insert("files", ["project_id", "digest", "name", "mime", "blob_key", "size_bytes"], [row]);
      }
      if (seen.size >= remembered) seen.clear();
      seen.add(key);
    },
    get: async (request) => await get(engine, request),
    find: async (request) => await find(engine, request),
    async blobsInUse(keys) {
      if (keys.length === 0) return new Set();
      const p = new Parameters();
      const sql = `SELECT DISTINCT blob_key FROM ${allRows("files")} WHERE ${p.in("blob_key", "String", keys)}`;
      const rows = await engine.rows<{ blob_key: string }>({ sql, params: p });
      return new Set(rows.map(({ blob_key }) => blob_key));
    },
    async exist() {
      return (await engine.rows({ sql: `SELECT 1 FROM ${allRows("files")} LIMIT 1` })).length > 0;
    },
    async totalSize(projectId) {
      const p = new Parameters();
      const sql = `SELECT sum(size_bytes) AS total FROM ${newestRows("files")} WHERE project_id = ${p.bind("String", projectId)}`;
      const [row] = await engine.rows<{ total: string }>({ sql, params: p });
      return Number(row?.total ?? 0);
    },
  };
}
