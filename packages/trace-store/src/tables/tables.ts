import { HeddleError } from "@heddle/errors";
import { isContentDigest, tableDigest } from "@heddle/trace-model";
import type { ReadOptions, StoreContext } from "../context.js";
import { insertTable } from "./digests.js";
import { queryTable } from "./query.js";
import type { TableCreate, TableQuery, TableRow, TableStats, TableUpdate } from "./requests.js";
import { insertRows, rowDigests } from "./rows.js";
import { tableStats } from "./stats.js";
import { updateTable } from "./update.js";

/** Lists of rows by content: the same rows in the same order are the same table. Rows are stored apart from their order. */
export interface Tables {
  /** Row digests come one per row, in order. Throws `invalid` for a row that is not an object, and `conflict`. */
  create(request: TableCreate): Promise<{ digest: string; row_digests: string[] }>;
  /** The rows should have been stored before; whether they are is not looked at. */
  createFromDigests(request: {
    project_id: string;
    row_digests: readonly string[];
    expected_digest?: string;
  }): Promise<{ digest: string }>;
  update(request: TableUpdate): Promise<{ digest: string; updated_row_digests: string[] }>;
  query(request: TableQuery, options?: ReadOptions): AsyncIterable<TableRow>;
  /** Only tables that exist. */
  stats(
    request: { project_id: string; digests: readonly string[]; include_storage_size?: boolean },
    options?: { signal?: AbortSignal },
  ): Promise<TableStats[]>;
}

export function openTables({ engine, writes }: StoreContext): Tables {
  return {
    async create({ project_id, rows, expected_digest }) {
      const digests = await rowDigests(rows, (index) => ["rows", index]);
      const digest = digestOf(digests, expected_digest);
      await insertRows(writes, project_id, rows, digests);
      await insertTable(writes, { project_id, digest }, digests);
      return { digest, row_digests: digests };
    },
    async createFromDigests({ project_id, row_digests, expected_digest }) {
      const wrong = row_digests.findIndex((digest) => digest.length !== 43 || !isContentDigest(digest));
      if (wrong >= 0) {
        const message = "a row digest has 43 letters and digits";
        throw new HeddleError("invalid", message, { loc: ["row_digests", wrong] });
      }
      const digest = digestOf(row_digests, expected_digest);
      await insertTable(writes, { project_id, digest }, row_digests);
      return { digest };
    },
    update: async (request) => await updateTable(writes, request),
    query: (request, options) => queryTable(engine, request, options),
    stats: async ({ project_id, digests, include_storage_size = false }, { signal } = {}) =>
      await tableStats(engine, project_id, digests, include_storage_size, signal),
  };
}

function digestOf(rowDigests: readonly string[], expected: string | undefined): string {
  const digest = tableDigest(rowDigests);
  if (expected !== undefined && expected !== digest) {
    throw new HeddleError("conflict", `The table has the digest ${digest}, not ${expected}`);
  }
  return digest;
}
