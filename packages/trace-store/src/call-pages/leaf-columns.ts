import { characterCount, firstCharacters, hasAtMost, jsonType, objectText, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leavesAt } from "@heddle/trace-model";
import type { JsonColumn } from "@heddle/trace-model";
import { leafJson } from "../query/json-path.js";
import type { StatementSql } from "../query/statement-sql.js";
import type { Leaf } from "./call-select.js";

/** The beginning of a leaf that is longer than asked for. */
export interface CutValue {
  text: string;
  /** Of the whole text. */
  chars: number;
  kind: "string" | "object" | "list" | "number" | "boolean";
}

/** The leaves of one call by their paths as requested. */
export interface LeafValues {
  values: Array<readonly [path: string, value: JsonText]>;
  cut: Array<readonly [path: string, value: CutValue]>;
}

/** A leaf as the engine prints it: its type, how many characters it has, and the first of them. */
type EngineLeaf = [type: string, chars: string, text: string];

/** Columns of a row that {@link leafColumns} selects, by name: leaves `l0`, `l1`, …, documents `doc_inputs`, …. */
export type LeafRow = Readonly<Record<string, unknown>>;

/** Larger documents are read apart, where they are needed at all. */
export const documentBytes = 16_384;

/** How the engine's types of JSON values are called; a leaf of another type is null or missing. */
const kinds: Readonly<Record<string, CutValue["kind"]>> = {
  String: "string",
  Object: "object",
  Array: "list",
  Bool: "boolean",
  Int64: "number",
  UInt64: "number",
  Double: "number",
};

/** What is in a document of which a whole number may have been written otherwise: `1.0`, `1E2`. */
const rewrittenNumbers = "[0-9](\\.0|[eE][-+0-9])";

/**
 * The columns that return leaves, cut by the engine. It prints numbers, objects and lists anew (`1.0` as `1`): where one of them
 * is short enough to be shown whole, the document comes along, from which {@link readLeaves} takes the exact text.
 */
export function leafColumns(sql: StatementSql, leaves: readonly Leaf[], previewChars: number): string[] {
  const most = sql.p.bind("UInt32", previewChars);
  const rewritten = sql.p.bind("String", rewrittenNumbers);
  const doubts = new Map<JsonColumn, string[]>();
  const columns = leaves.map(({ column, path }, at) => {
    const raw = sql.named(leafJson(sql, column, path));
    const type = sql.named(`toString(JSONType(${raw.first}))`);
    const text = sql.named(`if(${type.first} = 'String', JSONExtractString(${raw.again}), ${raw.again})`);
    const chars = sql.named(`lengthUTF8(${text.first})`);
    const list = doubts.get(column) ?? [];
    list.push(
      `((${type.again} IN ('Double', 'Object', 'Array') OR ${raw.again} = '0'
        OR (${type.again} IN ('Int64', 'UInt64') AND match(${column}, ${rewritten}))) AND ${chars.again} <= ${most})`,
    );
    doubts.set(column, list);
    return `(${type.again}, ${chars.first}, leftUTF8(${text.again}, ${most})) AS l${at}`;
  });
  return [...columns, ...Array.from(doubts, ([column, list]) => documentColumn(column, list))];
}

/** The document where a leaf of it is in doubt, else ''; NULL for a large one. */
function documentColumn(column: JsonColumn, doubts: readonly string[]): string {
  const original = `exact['${column}']`;
  return `multiIf(NOT (${[...doubts, `${original} != ''`].join(" OR ")}), '',
    greatest(length(${column}), length(${original})) > ${documentBytes}, NULL,
    ${original} != '', ${original}, ${column}) AS doc_${column}`;
}

/** The documents that {@link readLeaves} needs besides the row. */
export function missingDocuments(row: LeafRow, leaves: readonly Leaf[]): JsonColumn[] {
  return [...new Set(leaves.map(({ column }) => column))].filter((column) => row[`doc_${column}`] === null);
}

/** `documents` are those that are {@link missingDocuments missing} in the row. */
export function readLeaves(
  row: LeafRow,
  leaves: readonly Leaf[],
  { previewChars, documents = {} }: { previewChars: number; documents?: Partial<Record<JsonColumn, JsonText>> },
): LeafValues {
  const found: LeafValues = { values: [], cut: [] };
  const exact = exactLeaves(row, leaves, documents);
  for (const [at, field] of leaves.entries()) {
    const leaf = exact.has(field)
      ? exactLeaf(exact.get(field), previewChars)
      : printedLeaf(row[`l${at}`] as EngineLeaf, previewChars);
    if (typeof leaf === "string") found.values.push([field.text, leaf]);
    else if (leaf !== undefined) found.cut.push([field.text, leaf]);
  }
  return found;
}

/** The leaves of the documents that are at hand. */
function exactLeaves(
  row: LeafRow,
  leaves: readonly Leaf[],
  documents: Partial<Record<JsonColumn, JsonText>>,
): Map<Leaf, JsonText | undefined> {
  const found = new Map<Leaf, JsonText | undefined>();
  for (const column of new Set(leaves.map((leaf) => leaf.column))) {
    const document = documents[column] || row[`doc_${column}`];
    if (typeof document !== "string" || document === "") continue;
    const mine = leaves.filter((leaf) => leaf.column === column);
    const values = leavesAt(
      document,
      mine.map(({ path }) => path),
    );
    for (const [at, leaf] of mine.entries()) found.set(leaf, values[at]);
  }
  return found;
}

function printedLeaf([type, chars, text]: EngineLeaf, previewChars: number): JsonText | CutValue | undefined {
  const kind = kinds[type];
  if (kind === undefined) return undefined;
  if (Number(chars) > previewChars) return { text, chars: Number(chars), kind };
  return kind === "string" ? JSON.stringify(text) : text;
}

function exactLeaf(leaf: JsonText | undefined, previewChars: number): JsonText | CutValue | undefined {
  if (leaf === undefined) return undefined;
  const text = stringValue(leaf) ?? leaf;
  if (hasAtMost(text, previewChars)) return leaf;
  const type = jsonType(leaf);
  const kind = type === "array" ? "list" : type === "null" ? "object" : type;
  return { text: firstCharacters(text, previewChars), chars: characterCount(text), kind };
}

/** The JSON object of leaves by their paths. */
export const valuesText = ({ values }: Pick<LeafValues, "values">): JsonText => objectText(values);
