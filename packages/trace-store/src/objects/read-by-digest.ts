import { readable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { parseVersionLabel } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import type { Heads, HeadsOfName } from "./heads.js";
import type { Among, ObjectRead } from "./requests.js";
import { inProject, isAmong, versionColumns, versionOf } from "./versions.js";
import type { Version, VersionRow } from "./versions.js";
import { newestBy } from "../schema/newest-by.js";
import { allRows } from "../schema/read-table.js";

/** Up to here a value is read with its version. */
const smallBytes = 64 * 1024;

interface FoundVersion {
  version: Version;
  /** Undefined when it was not asked for, or is large. */
  val: JsonText | undefined;
}

type ValueRow = Omit<VersionRow, "is_latest"> & { version: string; small_val?: string; small_exact?: string };

/**
 * Reads a live version that is asked for by its digest or as `latest`, in one statement by its key. Undefined for other
 * labels, and when it does not find one: then it takes a look at all versions to tell why.
 */
export async function readByDigest(
  engine: Engine,
  heads: Heads,
  request: ObjectRead,
  { signal, among }: { signal?: AbortSignal; among?: Among },
): Promise<FoundVersion | undefined> {
  const wanted = parseVersionLabel(request.digest);
  if (wanted.by === "latest") {
    const known = await heads.ofName(engine, request, signal);
    const digest = latestOf(known, among);
    return digest === undefined ? undefined : choose(await readRows(engine, request, digest, signal), known, among);
  }
  if (wanted.by !== "digest") return undefined;
  const [known, rows] = await Promise.all([
    heads.ofName(engine, request, signal),
    readRows(engine, request, wanted.digest, signal),
  ]);
  return choose(rows, known, among);
}

/** What `latest` means: of an op and another object of the same name, the one that was published later. */
function latestOf(heads: HeadsOfName, among: Among | undefined): string | undefined {
  const live = (["object", "op"] as const)
    .map((kind) => ({ ...heads[kind], kind }))
    .filter(({ kind, base_class }) => base_class !== undefined && isAmong({ kind, base_class }, among));
  return live.toSorted((a, b) => Number(b.published_at - a.published_at))[0]?.latest_digest;
}

/** Every row of the key. */
async function readRows(
  engine: Engine,
  { project_id, object_id, metadata_only }: ObjectRead,
  digest: string,
  signal: AbortSignal | undefined,
): Promise<ValueRow[]> {
  const p = new Parameters();
  const small = (column: string) => `if(size_bytes <= ${smallBytes}, ${column}, '') AS small_${column}`;
  const columns = [versionColumns, "version", ...(metadata_only === true ? [] : [small("val"), small("exact")])];
  const sql = `SELECT ${columns.join(", ")} FROM ${allRows("objects")} WHERE ${inProject(p, project_id)}
    AND object_id = ${p.bind("String", object_id)} AND digest = ${p.bind("String", digest)}`;
  return await engine.rows<ValueRow>({ sql, params: p }, { signal });
}

function choose(rows: readonly ValueRow[], heads: HeadsOfName, among: Among | undefined): FoundVersion | undefined {
  for (const row of newestBy(rows, ({ kind }) => kind).values()) {
    const isLatest = heads[row.kind].latest_digest === row.digest;
    const version = versionOf({ ...row, is_latest: isLatest ? 1 : 0 });
    if (version.deleted_at !== undefined || !isAmong(version, among)) continue;
    const isWhole = row.small_val !== undefined && version.size_bytes <= smallBytes;
    return { version, val: isWhole ? readable(row.small_val ?? "", row.small_exact ?? "") : undefined };
  }
  return undefined;
}
