import type MiniSearch from "minisearch";
import type { Query, SearchResult } from "minisearch";
import { partsOf, wordsOf } from "./search-terms.js";
import type { SearchEntry } from "./search-terms.js";

/** A result with the stored fields of its entry. */
export type FoundEntry = SearchResult & Pick<SearchEntry, "href" | "title" | "heading">;

const maxEntriesPerPage = 3;

/**
 * Finds the entries that have every word of a text, or every part of every word, with prefixes and small errors. Whole
 * words, identifiers and headings come first. Of one page there are at most three.
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
    fuzzy: 0.12,
    boost: { keywords: 8 * weight, title: 3 * weight, heading: 4 * weight, text: weight },
  });
  const found = index.search({
    queries: [all(words, 2), all(words.flatMap(partsOf), 1)],
    combineWith: "OR",
  }) as FoundEntry[];
  const counts = new Map<string, number>();
  return found.filter(({ href }) => {
    const page = href.split("#", 1)[0] ?? "";
    const count = (counts.get(page) ?? 0) + 1;
    counts.set(page, count);
    return count <= maxEntriesPerPage;
  });
}
