import { newestRows } from "../schema/read-table.js";
import { displayName } from "../visibility/display-names.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { CallSql } from "./call-sql.js";
import { wordsInside } from "./parse-search.js";
import type { Search } from "./parse-search.js";
import { columnTexts, hasIndexedWords, indexedText, searchedText, separatedWords } from "./searched-text.js";

/**
 * The conditions of a search over the columns of calls, cheap ones first: no text is decoded in which an ASCII term does
 * not occur.
 */
export function compileSearch(sql: CallSql, search: Search, { project_id, inFlight }: CallScope): string[] {
  const { p } = sql;
  const isRenamed = search.columns.includes("display_name") && inFlight.hasNames(project_id);
  if (isRenamed) sql.names = true;
  const name = isRenamed ? displayName : "display_name";
  const texts = columnTexts(name);
  const folded = (term: string) => `lowerUTF8(${p.bind("String", term)})`;
  const text = searchedText(search.columns, name);

  const conditions = [...search.words, ...search.texts].filter(isStoredAsIs).map((term) => {
    const bound = p.bind("String", term);
    return either(search.columns.map((column) => `positionCaseInsensitive(${texts[column]}, ${bound}) > 0`));
  });
  const words = search.words.map(folded);
  if (text !== indexedText) conditions.push(...words.map((word) => `hasToken(${separatedWords(text)}, ${word})`));
  conditions.push(...search.texts.map((part) => `position(lowerUTF8(${text}), ${folded(part)}) > 0`));
  const indexed = [...words, ...search.texts.flatMap(wordsInside).map(folded)];
  if (indexed.length > 0) {
    const renamed = isRenamed ? [`id IN (${renamedTo(p.bind("String", project_id), indexed)})`] : [];
    conditions.push(either([hasIndexedWords(indexed), ...renamed]));
  }
  return conditions;
}

/** The calls that got a name after their start with one of the words: the index has the names from the starts. */
function renamedTo(project: string, words: readonly string[]): string {
  const anyWord = words.map((word) => `hasToken(${separatedWords("display_name")}, ${word})`).join(" OR ");
  return `SELECT id FROM ${newestRows("call_names")} WHERE project_id = ${project} AND (${anyWord})`;
}

/** Whether a term is in documents as it is in their strings. */
function isStoredAsIs(term: string): boolean {
  return /^[ -~]+$/.test(term) && !/["\\/]/.test(term);
}

const either = (parts: readonly string[]): string => (parts.length === 1 ? parts.join() : `(${parts.join(" OR ")})`);
