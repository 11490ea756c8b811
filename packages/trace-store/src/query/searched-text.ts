import { opNamePart } from "./call-columns.js";
import { searchedColumns } from "./parse-search.js";
import type { SearchedColumn } from "./parse-search.js";

/** Columns of JSON, whose texts are searched as the strings in them read. */
const documents: ReadonlySet<SearchedColumn> = new Set(["attributes", "inputs", "output"]);

/** SQL of each column that is searched. A running call has no exception. */
export function columnTexts(displayName: string): Readonly<Record<SearchedColumn, string>> {
  return {
    op_name: opNamePart,
    display_name: displayName,
    exception: "ifNull(exception, '')",
    attributes: "attributes",
    inputs: "inputs",
    output: "output",
  };
}

/** SQL of all that is searched of a call, as it reads. The strings of a document are in it without their quotes. */
export function searchedText(columns: readonly SearchedColumn[], displayName: string): string {
  const texts = columnTexts(displayName);
  const plain = columns.filter((name) => !documents.has(name)).map((name) => texts[name]);
  const json = columns.filter((name) => documents.has(name)).map((name) => texts[name]);
  return joined([...plain, ...(json.length === 0 ? [] : [decoded(joined(json))])]);
}

/**
 * SQL of the words of a text in lower case, separated by ASCII characters: the engine takes all other characters for parts of
 * words.
 */
export function separatedWords(text: string): string {
  const other = String.raw`(?:[^\\x00-\\x7F\\p{L}\\p{N}\\p{M}]|[\\x{FE00}-\\x{FE0F}\\x{20D0}-\\x{20FF}])+`;
  const separated = `replaceRegexpAll(lowerUTF8(t), '${other}', ' ')`;
  return named("t", text, `if(lengthUTF8(t) = length(t), lower(t), ${separated})`);
}

/** What is searched of a call, with the name from its start, and its words: what the index has. It stays as it is. */
export const indexedText = searchedText(searchedColumns, "display_name");
export const indexedWords = separatedWords(indexedText);

/** SQL that a call has all words, in the forms that the indexes know; neither knows them as mere hints. */
export function hasIndexedWords(lowerCase: readonly string[]): string {
  const each = lowerCase.map((word) => `hasToken(${indexedWords}, ${word})`);
  return `(${[...each, `hasAll(tokens(${indexedWords}), [${lowerCase.join(", ")}])`].join(" AND ")})`;
}

function joined(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? "''") : `concat(${texts.join(String.raw`, '\n', `)})`;
}

/** Documents are read as one string of JSON in which quotes are spaces: no other function decodes as fast. */
function decoded(text: string): string {
  const backslashes = String.raw`replaceAll(d, '\\\\', '\\u005c')`;
  const quotes = String.raw`replaceAll(replaceAll(${backslashes}, '\\"', '\\u0022'), '"', ' ')`;
  const string = `simpleJSONExtractString(concat('{"":"', ${quotes}, '"}'), '')`;
  return named("d", text, String.raw`if(position(d, '\\') = 0, d, ${string})`);
}

/** A long expression is planned as often as it is written: this writes it once, and indexes know it. */
function named(name: string, expression: string, body: string): string {
  return `arrayMap(${name} -> ${body}, [${expression}])[1]`;
}
