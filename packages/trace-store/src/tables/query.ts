import type { JsonText } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { tableRowDigests } from "./digests.js";
import { checkPage } from "../query/page.js";
import type { TableQuery, TableRow } from "./requests.js";
import { readRows } from "./rows.js";
import { parseTableSort, sortedPositions } from "./sort.js";
import type { Position, TablePathOrder } from "./sort.js";

/** Rows fetched at a time: fewer when they are large. */
const fewest = 50;
const most = 5000;
const chunkChars = 4 * 1024 * 1024;

/**
 * The rows of a table in order, one per position, fetched on demand. An unknown table has none; a row that
 * was never stored is left out. Throws at once for a wrong sort path or page.
 */
export function queryTable(engine: Engine, request: TableQuery, signal?: AbortSignal): AsyncGenerator<TableRow> {
  checkPage(request);
  return readTable(engine, request, parseTableSort(request.sort_by), signal);
}

async function* readTable(
  engine: Engine,
  request: TableQuery,
  order: readonly TablePathOrder[],
  signal: AbortSignal | undefined,
): AsyncGenerator<TableRow> {
  const positions = await pagePositions(engine, request, order, signal);
  let size = 500;
  for (let from = 0; from < positions.length;) {
    const chunk = positions.slice(from, from + size);
    const rows = new Map<string, JsonText>();
    const digests = chunk.map(({ digest }) => digest);
    for await (const { digest, val } of readRows(engine, [request.project_id], digests, signal)) rows.set(digest, val);
    let chars = 0;
    for (const { index, digest } of chunk) {
      const val = rows.get(digest);
      if (val === undefined) continue;
      chars += val.length;
      yield { digest, val, original_index: index };
    }
    from += chunk.length;
    size = Math.round(Math.min(most, Math.max(fewest, (chunk.length * chunkChars) / Math.max(chars, 1))));
  }
}

async function pagePositions(
  engine: Engine,
  request: TableQuery,
  order: readonly TablePathOrder[],
  signal: AbortSignal | undefined,
): Promise<Position[]> {
  const { filter, limit, offset = 0 } = request;
  const wanted = filter?.row_digests?.length ? new Set(filter.row_digests) : undefined;
  if (order.length === 0 && wanted === undefined) {
    const page = (await tableRowDigests(engine, request, { offset, limit }, signal)) ?? [];
    return page.map((digest, at) => ({ index: offset + at, digest }));
  }
  const all =
    order.length > 0
      ? await sortedPositions(engine, request, order, signal)
      : ((await tableRowDigests(engine, request, {}, signal)) ?? []).map((digest, index) => ({ index, digest }));
  const chosen = wanted === undefined ? all : all.filter(({ digest }) => wanted.has(digest));
  return chosen.slice(offset, limit === undefined ? undefined : offset + limit);
}
