import type MiniSearch from "minisearch";
import type { Query, SearchResult } from "minisearch";
import { partsOf, wordsOf } from "./search-terms.js";
import { inOtherWords } from "./search-synonyms.js";
import type { EntryKind, SearchEntry } from "./search-terms.js";

/** A result with the stored fields of its entry. */
export type FoundEntry = SearchResult & Pick<SearchEntry, "href" | "kind" | "title" | "heading">;

const maxEntriesPerPage = 3;

/** Pages that explain come before those that list, unless these match much better. */
const kindWeights: Record<EntryKind, number> = { guide: 4, operation: 1.6, section: 1, type: 0.6, changelog: 0.1 };
/** Who types a name or a path of the interface looks for what has it. */
const nameWeights: Record<EntryKind, number> = { ...kindWeights, guide: 1, operation: 1, section: 1, type: 1 };

/**
 * Finds the entries that have every word of a text, or every part of every word, with prefixes and small errors. Whole
 * words, identifiers and headings come first, and guides before operations, sections, types and the changelog. Of one
 * page there are at most three.
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
  const weights = /[_/$]|\p{Ll}\p{Lu}/u.test(text) ? nameWeights : kindWeights;
  const found = index.search({
    queries: [
      all(words, 2),
      all(words.flatMap(partsOf), 1),
      ...inOtherWords(text).map((other) => all(wordsOf(other), 2)),
    ],
    combineWith: "OR",
    boostDocument: (_id, _term, stored) => weights[stored?.["kind"] as EntryKind],
  }) as FoundEntry[];
  // A page that is named exactly so is what was looked for.
  const asked = text.trim().toLowerCase();
  const isNamed = ({ kind, title }: FoundEntry) =>
    (kind === "guide" || kind === "operation") && title.replace(/ \(\w+\)$/, "").toLowerCase() === asked;
  const counts = new Map<string, number>();
  return [...found.filter(isNamed), ...found.filter((entry) => !isNamed(entry))].filter(({ href }) => {
    const page = href.split("#", 1)[0] ?? "";
    const count = (counts.get(page) ?? 0) + 1;
    counts.set(page, count);
    return count <= maxEntriesPerPage;
  });
}
