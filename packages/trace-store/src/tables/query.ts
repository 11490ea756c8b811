import type { JsonText } from "@heddle/exact-json";
import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { tableRowDigests } from "./digests.js";
import { checkPage } from "../query/page.js";
import type { TableQuery, TableRow } from "./requests.js";
import { readRows, rowSizes } from "./rows.js";
import { parseTableSort, sortedPositions } from "./sort.js";
import type { Position, TablePathOrder } from "./sort.js";

/** Most positions whose sizes are looked up, and bytes of rows that are fetched and held, at a time. */
const blockRows = 5000;
const fetchBytes = 4 * 1024 * 1024;

/**
 * The rows of a table in order, one per position, fetched on demand. An unknown table has none; a row that
 * was never stored is left out. Throws at once for a wrong sort path or page.
 */
export function queryTable(engine: Engine, request: TableQuery, options: ReadOptions = {}): AsyncGenerator<TableRow> {
  checkPage(request);
  return readTable(engine, request, parseTableSort(request.sort_by), options);
}

async function* readTable(
  engine: Engine,
  request: TableQuery,
  order: readonly TablePathOrder[],
  { signal, reserve }: ReadOptions,
): AsyncGenerator<TableRow> {
  const { project_id } = request;
  const positions = await pagePositions(engine, request, order, signal);
  for (let from = 0; from < positions.length; from += blockRows) {
    const block = positions.slice(from, from + blockRows);
    const sizes = await rowSizes(engine, [project_id], digestsOf(block), signal);
    for (const { group, bytes } of bySize(block, sizes)) {
      const release = await reserve?.(bytes);
      try {
        const rows = new Map<string, JsonText>();
        for await (const row of readRows(engine, [project_id], digestsOf(group), signal)) rows.set(row.digest, row.val);
        for (const { index, digest } of group) {
          const val = rows.get(digest);
          if (val !== undefined) yield { digest, val, original_index: index };
        }
      } finally {
        release?.();
      }
    }
  }
}

function digestsOf(positions: readonly Position[]): string[] {
  return positions.map(({ digest }) => digest);
}

/** Neighbours whose rows are fetched together; equal ones count once. */
function* bySize(
  positions: readonly Position[],
  sizes: ReadonlyMap<string, number>,
): Generator<{ group: Position[]; bytes: number }> {
  let group: Position[] = [];
  let digests = new Set<string>();
  let bytes = 0;
  for (const position of positions) {
    const size = digests.has(position.digest) ? 0 : (sizes.get(position.digest) ?? 0);
    if (group.length > 0 && bytes + size > fetchBytes) {
      yield { group, bytes };
      group = [];
      digests = new Set();
      bytes = 0;
    }
    group.push(position);
    digests.add(position.digest);
    bytes += size;
  }
  if (group.length > 0) yield { group, bytes };
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
