import type MiniSearch from "minisearch";
import type { Query, SearchResult } from "minisearch";
import { partsOf, wordsOf } from "./search-terms.js";
import type { SearchEntry } from "./search-terms.js";

/** A result with the stored fields of its entry. */
export type FoundEntry = SearchResult & Pick<SearchEntry, "href" | "title" | "heading">;

/**
 * Finds the entries that have every word of a text, or every part of every word, with prefixes and small errors. Whole
 * words, identifiers and headings come first.
 */
export function searchEntries(index: MiniSearch<SearchEntry>, text: string): FoundEntry[] {
  const words = wordsOf(text);
  if (words.length === 0) return [];
  const all = (terms: string[], weight: number): Query => ({
    queries: terms,
    combineWith: "AND",
    // The terms are split already.
    tokenize: (term: string) => [term],
    prefix: true,
    fuzzy: (term: string) => (term.length > 3 ? 0.2 : false),
    boost: { keywords: 8 * weight, title: 3 * weight, heading: 4 * weight, text: weight },
  });
  return index.search({ queries: [all(words, 2), all(words.flatMap(partsOf), 1)], combineWith: "OR" }) as FoundEntry[];
}
