import { mainThread } from "@heddle/concurrency";
import type { JsonColumn } from "@heddle/trace-model";
import { readable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { bySize } from "../call-reading/page.js";
import { located } from "../call-reading/row-source.js";
import type { PageRow } from "../call-reading/row-source.js";
import { fetchCalls, listSettings } from "../call-reading/statements.js";
import type { CallSource } from "../call-reading/statements.js";
import type { PriceBook } from "../costs/price-book.js";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { feedbackOfCalls } from "../feedback/of-calls.js";
import { at } from "../query/call-query.js";
import { StatementSql } from "../query/statement-sql.js";
import { newestBy } from "../schema/newest-by.js";
import { renames } from "../visibility/display-names.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallSelect } from "./call-select.js";
import { documentBytes, leafColumns, missingDocuments, readLeaves, valuesText } from "./leaf-columns.js";
import { readRow, rowColumns } from "./row-columns.js";
import type { CallPageRow, Included, Rename, StoredRow } from "./row-columns.js";

/** What to read of calls. */
export interface RowShape {
  select: CallSelect;
  /** The most characters of a leaf. */
  previewChars: number;
  included: Included;
}

/** From where. */
export interface RowsSource extends Omit<CallSource, "select"> {
  /** For lookups in the middle of a read. */
  lookups: Engine;
  readBook: () => Promise<PriceBook>;
}

/** What a page has with the keys of its calls takes at most this much memory. */
const mostBytesWithKeys = 8_000_000;

/** Exact texts are looked for this long before others get to run. */
const sliceMs = 2;

/** The calls with these keys as they are now, in their order, without those that are gone. */
export async function* readRows(
  source: RowsSource,
  keys: readonly PageRow[],
  shape: RowShape,
): AsyncGenerator<CallPageRow, void, undefined> {
  const book = shape.included.costs && keys.length > 0 ? await source.readBook() : undefined;
  let since = performance.now();
  const sized = keys.map((key) => ({ ...key, bytes: mostBytes(key.bytes, shape) }));
  for (const group of bySize(sized)) {
    const ids = group.map(({ id }) => id);
    const stored = await storedRows(source, group, shape);
    const named = await readRenames(source, ids);
    const feedback = shape.included.feedback ? await readFeedback(source, ids) : undefined;
    const documents = await readDocuments(source, group, { stored, shape });
    for (const id of ids) {
      const row = stored.get(id);
      if (row === undefined) continue;
      if (performance.now() - since > sliceMs) {
        await mainThread.giveWay();
        since = performance.now();
      }
      const call = readRow(row, shape.select, { rename: named.get(id), book });
      if (feedback !== undefined) call.feedback = feedback.get(id) ?? [];
      addLeaves(call, row, { shape, documents: documents.get(id) });
      const release = await source.reserve?.(bytesOfRow(call));
      yield call;
      release?.();
    }
  }
}

/** The most bytes that the engine returns of a call. */
export function mostBytes(bytes: number, { select, previewChars, included }: RowShape): number {
  const { leaves, properties } = select;
  const documents = new Set(leaves.map(({ column }) => column)).size;
  const usage = properties.has("tokens") || included.costs ? bytes : 0;
  return 1000 + usage + leaves.length * Math.min(bytes, 4 * previewChars) + documents * Math.min(bytes, documentBytes);
}

/**
 * The columns of rows, for a page that has them with the keys of its calls; undefined where they would take too much memory. Of
 * calls with documents of this size they are incomplete.
 */
export function columnsWithKeys(shape: RowShape, calls: number): ((p: Parameters) => string[]) | undefined {
  if (calls * mostBytes(documentBytes, shape) > mostBytesWithKeys) return undefined;
  return (p) => columnsOf(shape, new StatementSql(p, "shown"), `size_bytes < ${documentBytes}`);
}

/** Rows that came with their keys, and the others. */
async function storedRows(
  source: RowsSource,
  keys: readonly PageRow[],
  shape: RowShape,
): Promise<Map<string, StoredRow>> {
  const found = new Map<string, StoredRow>();
  const others: PageRow[] = [];
  for (const key of keys) {
    if (key.shown !== undefined && Number(key.shown["bytes"]) < documentBytes)
      found.set(key.id, key.shown as StoredRow);
    else others.push(key);
  }
  if (others.length === 0) return found;
  const fetched = await fetchCalls<StoredRow>({ ...source, select: [] }, located(others), (p) =>
    columnsOf(shape, new StatementSql(p)),
  );
  return new Map([...found, ...fetched]);
}

function columnsOf({ select, included, previewChars }: RowShape, sql: StatementSql, isSmall?: string): string[] {
  return [...rowColumns(select, included, isSmall), ...leafColumns(sql, select.leaves, previewChars)];
}

function addLeaves(
  call: CallPageRow,
  row: StoredRow,
  { shape, documents }: { shape: RowShape; documents: Documents | undefined },
): void {
  const { previewChars, select } = shape;
  if (select.leaves.length === 0) return;
  const leaves = readLeaves(row, select.leaves, { previewChars, documents });
  if (leaves.values.length > 0) call.values = valuesText(leaves);
  if (leaves.cut.length > 0) call.cut = leaves.cut;
}

type Documents = Partial<Record<JsonColumn, JsonText>>;

/** Large documents of which a leaf is shown whole and exactly, each call by itself. */
async function readDocuments(
  source: RowsSource,
  keys: readonly PageRow[],
  { stored, shape }: { stored: ReadonlyMap<string, StoredRow>; shape: RowShape },
): Promise<Map<string, Documents>> {
  const found = new Map<string, Documents>();
  for (const key of keys) {
    const row = stored.get(key.id);
    const columns = row === undefined ? [] : missingDocuments(row, shape.select.leaves);
    if (row === undefined || columns.length === 0) continue;
    const release = await source.reserve?.(key.bytes);
    const select = [...columns, "exact"];
    const statement = () => {
      const p = new Parameters();
      const version = `version = ${p.bind("UInt64", row.version)}`;
      const where = [...at(p, { ids: [key.id], started_at: [BigInt(row.started_us)] }), version];
      return {
        sql: visibleCalls(source.scope(), p, { select: ["id", "version", ...select], where, ids: [key.id] }),
        params: p,
      };
    };
    type Row = { id: string; version: string; exact: Readonly<Record<string, JsonText>> } & Record<
      JsonColumn,
      JsonText
    >;
    const rows = await source.lookups.rows<Row>(statement, { signal: source.signal, settings: listSettings });
    const whole = newestBy(rows, ({ id }) => id).get(key.id);
    const texts = columns.map((column) => [column, readable(whole?.[column] ?? "", whole?.exact[column])] as const);
    found.set(key.id, Object.fromEntries(texts));
    release?.();
  }
  return found;
}

/** The names that calls got after their start, by id. */
export async function readRenames(
  { lookups, scope, signal }: RowsSource,
  ids: readonly string[],
): Promise<Map<string, Rename>> {
  const { project_id, inFlight } = scope();
  if (!inFlight.hasNames(project_id)) return new Map();
  const p = new Parameters();
  const sql = renames(p, project_id, ids);
  type Row = { id: string; display_name: string; version: string };
  const rows = await lookups.rows<Row>({ sql, params: p }, { signal });
  return new Map(rows.map(({ id, display_name, version }) => [id, { display_name, version: BigInt(version) }]));
}

async function readFeedback({ lookups, scope, signal }: RowsSource, ids: readonly string[]) {
  return await feedbackOfCalls(lookups, scope().project_id, ids, signal);
}

/** Of a row in memory. */
export function bytesOfRow({ values = "", cut = [], feedback = [], exception = "" }: CallPageRow): number {
  const texts = [values, exception, ...feedback, ...cut.map(([, { text }]) => text)];
  return texts.reduce((sum, text) => sum + text.length, 500);
}
