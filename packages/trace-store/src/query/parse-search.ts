import { HeddleError } from "@heddle/errors";
import { hasAtMost } from "@heddle/exact-json";
import type { ApiSchemas } from "../api-schemas.js";

/** Where calls are searched. */
export const searchedColumns = ["op_name", "display_name", "exception", "attributes", "inputs", "output"] as const;
export type SearchedColumn = (typeof searchedColumns)[number];

/** A search as it is sent, unchecked. */
export type SearchRequest = ApiSchemas["CallSearch"];

/** What a call must have, all of it, in any of the columns. */
export interface Search {
  /** Whole words, in any case. */
  words: readonly string[];
  /** Contiguous texts, in any case. */
  texts: readonly string[];
  columns: readonly SearchedColumn[];
}

const maxCharacters = 1000;
/** Each is looked for on its own. */
const maxTerms = 50;

/** Letters and digits with their accents. What only decorates other characters, as variation selectors do, is none. */
export const wordCharacter = String.raw`(?:(?![\uFE00-\uFE0F\u20D0-\u20FF])[\p{L}\p{N}\p{M}])`;
const wordPattern = new RegExp(String.raw`[\p{L}\p{N}]${wordCharacter}*`, "gu");

/** Scripts that are written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;

/**
 * Reads a search: words, and texts in double quotes. A word of a script without spaces, and what has no letters or digits at
 * all, is a text as well. Throws `invalid` for one that has nothing to look for, or too much.
 */
export function parseSearch(request: SearchRequest): Search {
  const { text } = request;
  if (!hasAtMost(text, maxCharacters)) {
    throw new HeddleError("invalid", `a search has at most ${maxCharacters} characters`, { loc: ["search", "text"] });
  }
  const words = new Set<string>();
  const texts = new Set<string>();
  // What is outside of quotes and what is inside take turns; a quote that is not closed reaches to the end.
  for (const [at, piece] of text.split('"').entries()) {
    if (at % 2 === 1) {
      if (piece.trim() !== "") texts.add(piece);
      continue;
    }
    for (const term of piece.split(/\s+/).filter((each) => each !== "")) {
      const found = term.match(wordPattern);
      if (found === null) texts.add(term);
      for (const word of found ?? []) (unspaced.test(word) ? texts : words).add(word);
    }
  }
  const terms = words.size + texts.size;
  if (terms === 0) {
    throw new HeddleError("invalid", "a search needs a word or a text to look for", { loc: ["search", "text"] });
  }
  if (terms > maxTerms) {
    throw new HeddleError("invalid", `a search has at most ${maxTerms} words and texts, this one ${terms}`, {
      loc: ["search", "text"],
    });
  }
  const columns = request.in === undefined || request.in.length === 0 ? searchedColumns : [...new Set(request.in)];
  return { words: [...words], texts: [...texts], columns };
}

/** The words that every call with the text has, too: all but one that may go on before or after the text. */
export function wordsInside(text: string): string[] {
  return [...text.matchAll(wordPattern)]
    .filter(({ 0: word, index }) => index > 0 && index + word.length < text.length && !unspaced.test(word))
    .map(([word]) => word);
}
