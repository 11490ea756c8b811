import { readable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { ObjectKind } from "./requests.js";
import { inProject } from "./versions.js";
import { allRows } from "../schema/read-table.js";

const chunkKeys = 500;
const chunkBytes = 8 * 1024 * 1024;
/** Up to here the values arrive at once, which is faster than a stream. */
const smallBytes = 1024 * 1024;

interface ValueKey {
  project_id: string;
  kind: ObjectKind;
  object_id: string;
  digest: string;
  size_bytes: number;
}

/** Distinguishes versions of all projects. */
export function valueKey({ project_id, kind, object_id, digest }: Omit<ValueKey, "size_bytes">): string {
  return `${project_id}/${kind}/${object_id}:${digest}`;
}

/** Bytes of the values of versions. */
export function sizeOf(versions: Iterable<Pick<ValueKey, "size_bytes">>): number {
  let bytes = 0;
  for (const { size_bytes } of versions) bytes += size_bytes;
  return bytes;
}

/**
 * The values of versions, by `valueKey`. One that was deleted since its version was looked up is left out. Read without
 * FINAL: the rows of a version differ in what is around the value, so the newest live one will do.
 */
export async function readValues(
  engine: Engine,
  versions: readonly ValueKey[],
  signal?: AbortSignal,
): Promise<Map<string, JsonText>> {
  const values = new Map<string, JsonText>();
  const wanted = new Set(versions.map(valueKey));
  for (const chunk of chunksOf(versions)) {
    const p = new Parameters();
    const sql = `SELECT project_id, kind, object_id, digest, val, exact FROM ${allRows("objects")}
      WHERE ${inProject(p, ...new Set(chunk.map(({ project_id }) => project_id)))}
        AND ${p.in("object_id", "String", [...new Set(chunk.map(({ object_id }) => object_id))])}
        AND ${p.in("digest", "String", [...new Set(chunk.map(({ digest }) => digest))])}
        AND deleted_at IS NULL
      ORDER BY version DESC LIMIT 1 BY project_id, kind, object_id, digest`;
    type Row = ValueKey & { val: string; exact: string };
    const statement = { sql, params: p };
    const isSmall = sizeOf(chunk) <= smallBytes;
    const rows = isSmall ? await engine.rows<Row>(statement, { signal }) : engine.stream<Row>(statement, { signal });
    for await (const row of rows) {
      const key = valueKey(row);
      if (wanted.has(key)) values.set(key, readable(row.val, row.exact));
    }
  }
  return values;
}

function* chunksOf(versions: readonly ValueKey[]): Generator<ValueKey[]> {
  let chunk: ValueKey[] = [];
  let bytes = 0;
  for (const version of versions) {
    if (chunk.length === chunkKeys || (chunk.length > 0 && bytes + version.size_bytes > chunkBytes)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(version);
    bytes += version.size_bytes;
  }
  if (chunk.length > 0) yield chunk;
}
