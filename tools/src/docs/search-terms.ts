import type { Options } from "minisearch";

/** What an entry describes, in the order in which equal matches are listed. */
export type EntryKind = "guide" | "operation" | "section" | "type" | "changelog";

/** A part of a page that a search finds. */
export interface SearchEntry {
  id: number;
  /** Address below the root of the site, with the anchor. */
  href: string;
  kind: EntryKind;
  title: string;
  heading: string;
  /** Operation id and path, on the entry of the page itself. */
  keywords: string;
  text: string;
}

/** Words as they are written: letters, digits, `_` and `$`. */
export function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}_$]+/gu) ?? [];
}

/** The parts of a word at underscores and humps: `callsQuery` → `calls`, `Query`. Other words are one part. */
export function partsOf(word: string): string[] {
  return word.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u).filter((part) => part !== "");
}

/** How the index is made and read; both need the same. */
export const searchOptions: Options<SearchEntry> = {
  fields: ["title", "heading", "keywords", "text"],
  storeFields: ["href", "kind", "title", "heading"],
  tokenize: (text) =>
    wordsOf(text).flatMap((word) => {
      const parts = partsOf(word);
      return parts.length > 1 ? [word, ...parts] : [word];
    }),
  // Ids and digests of examples would be a third of the index, and nobody searches for them.
  processTerm: (term) => (isId(term) ? null : term.toLowerCase()),
};

function isId(term: string): boolean {
  return /\d/.test(term) && (/^[0-9a-f]{4,}$/.test(term) ? /[a-f]/.test(term) || term.length > 6 : term.length > 30);
}
