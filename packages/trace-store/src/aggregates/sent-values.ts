import { firstCharacters, readable, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leavesAt } from "@heddle/trace-model";
import type { JsonColumn } from "@heddle/trace-model";
import { scopeOf } from "../call-reading/selection.js";
import type { SelectionContext } from "../call-reading/selection.js";
import { fetchWhere } from "../call-reading/statements.js";
import type { ReadOptions } from "../context.js";
import { at } from "../query/call-query.js";
import { isTooMuch } from "./deadline.js";

/** A value that the engine has printed, and a call that has it. */
export interface PrintedValue {
  text: string;
  column: JsonColumn;
  path: readonly string[];
  id: string;
  /** When the call started. */
  us: string;
}

/** So many calls are looked at, and none that is larger: of other values the texts of the engine stay. */
const [mostCalls, mostBytes] = [200, 32_000] as const;

/**
 * The texts of values as they were sent, in the same order: the engine prints numbers, lists and objects anew, `1.0` as `1`.
 * Values that are equal to it have one text, that of the call.
 */
export async function sentValues(
  context: SelectionContext,
  projectId: string,
  printed: readonly PrintedValue[],
  { characters, signal }: ReadOptions & { characters: number },
): Promise<string[]> {
  const doubted = printed.filter(({ text }) => mayDiffer(text));
  const calls = new Map<string, bigint>();
  for (const { id, us } of doubted) if (calls.size < mostCalls) calls.set(id, BigInt(us));
  if (calls.size === 0) return printed.map(({ text }) => text);
  const columns = [...new Set(doubted.map(({ column }) => column))];
  const documents = await readDocuments(context, projectId, { calls, columns, signal });
  return printed.map(({ text, column, path, id }) => {
    const row = mayDiffer(text) ? documents.get(id) : undefined;
    if (row === undefined) return text;
    const [leaf] = leavesAt(readable(row[column], row.exact[column]), [path]);
    return leaf === undefined ? text : firstCharacters(stringValue(leaf) ?? leaf, characters);
  });
}

/** Whether a text may be that of something else than a string. */
const mayDiffer = (text: string): boolean => /^[-\d[{]/.test(text);

type Row = { id: string; version: string; exact: Readonly<Record<string, JsonText>> } & Record<JsonColumn, JsonText>;

async function readDocuments(
  context: SelectionContext,
  projectId: string,
  { calls, columns, signal }: ReadOptions & { calls: ReadonlyMap<string, bigint>; columns: readonly JsonColumn[] },
): Promise<Map<string, Row>> {
  const byId = { ids: [...calls.keys()], started_at: [...new Set(calls.values())] };
  const select = ["id", ...columns, "exact"];
  const source = { engine: context.engine, scope: scopeOf(context, projectId), signal, select, reserve: undefined };
  try {
    return await fetchWhere<Row>(source, (p) => ({
      where: [...at(p, byId), `size_bytes < ${mostBytes}`],
      ids: byId.ids,
    }));
  } catch (error) {
    if (isTooMuch(error)) return new Map();
    throw error;
  }
}
