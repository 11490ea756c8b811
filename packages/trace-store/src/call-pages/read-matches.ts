import { mainThread } from "@heddle/concurrency";
import { bySize } from "../call-reading/page.js";
import { located } from "../call-reading/row-source.js";
import type { PageRow } from "../call-reading/row-source.js";
import { fetchCalls } from "../call-reading/statements.js";
import { opNamePart } from "../query/call-columns.js";
import type { Search } from "../query/parse-search.js";
import { matchesInDocument, matchesInText, searchPattern } from "./find-matches.js";
import type { SearchMatch } from "./find-matches.js";
import { readRenames } from "./read-rows.js";
import type { RowsSource } from "./read-rows.js";

const mostMatches = 5;
/** Of each document only its beginning is looked through, of a page only so many bytes, and for so long at a time. */
const documentBytes = 250_000;
const pageBytes = 16 * 1024 * 1024;
const sliceMs = 2;

interface SearchedRow {
  id: string;
  version: string;
  op: string;
  op_part: string;
  name: string;
  failure: string;
  start_attributes: string;
  start_inputs: string;
  start_output: string;
}

/** Where the words and texts of a search are in calls, by id. */
export async function readMatches(
  source: RowsSource,
  keys: readonly PageRow[],
  search: Search,
): Promise<Map<string, SearchMatch[]>> {
  const found = new Map<string, SearchMatch[]>();
  const pattern = searchPattern(search);
  const beginning = (column: string) => `substring(${column}, 1, ${documentBytes}) AS start_${column}`;
  const select = [
    "id",
    "toString(op_name) AS op",
    `${opNamePart} AS op_part`,
    "display_name AS name",
    `substring(ifNull(exception, ''), 1, ${documentBytes}) AS failure`,
    ...["attributes", "inputs", "output"].map(beginning),
  ];
  let left = pageBytes;
  let since = performance.now();
  const sized = keys.map((key) => ({ ...key, bytes: 1000 + Math.min(key.bytes, 3 * documentBytes) }));
  for (const group of bySize(sized)) {
    const bytes = group.reduce((sum, row) => sum + row.bytes, 0);
    if (bytes > left) break;
    left -= bytes;
    const release = await source.reserve?.(bytes);
    const rows = await fetchCalls<SearchedRow>({ ...source, select }, located(group));
    const names = await readRenames(source, [...rows.keys()]);
    for (const [id, row] of rows) {
      if (performance.now() - since > sliceMs) {
        await mainThread.giveWay();
        since = performance.now();
      }
      const name = names.get(id)?.display_name ?? row.name;
      found.set(id, matchesIn(pattern, search, { ...row, name }));
    }
    release?.();
  }
  return found;
}

function matchesIn(pattern: RegExp, { columns }: Search, row: SearchedRow): SearchMatch[] {
  const matches: SearchMatch[] = [];
  for (const column of columns) {
    const most = mostMatches - matches.length;
    if (most === 0) break;
    if (column === "display_name") matches.push(...matchesInText(pattern, "name", row.name, most));
    else if (column === "exception") matches.push(...matchesInText(pattern, "exception", row.failure, most));
    else if (column === "op_name") matches.push(...matchesInOp(pattern, row, most));
    else matches.push(...matchesInDocument(pattern, column, row[`start_${column}`], most));
  }
  return matches;
}

/** In the readable part of the op name, which is the name of a call without another one. */
function matchesInOp(pattern: RegExp, { op, op_part: part, name }: SearchedRow, most: number): SearchMatch[] {
  if (name === "") return matchesInText(pattern, "name", part, most);
  const before = Math.max(0, op.lastIndexOf(part));
  return matchesInText(pattern, "op_name", part, most).map(({ at = 0, ...match }) => ({ ...match, at: before + at }));
}
