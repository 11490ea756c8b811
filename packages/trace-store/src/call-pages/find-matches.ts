import { characterCount, decodeString, stringEnd } from "@heddle/exact-json";
import { joinPath } from "@heddle/trace-model";
import { wordCharacter } from "../query/parse-search.js";
import type { Search } from "../query/parse-search.js";

/** A place where a word or text of a search is. */
export interface SearchMatch {
  /** A property, or the path to a leaf. */
  path: string;
  /** Characters before it; undefined in the last name of the path. */
  at?: number;
  /** Characters of it. */
  length: number;
}

/** The words and texts of a search as one pattern. */
export function searchPattern({ words, texts }: Search): RegExp {
  const whole = words.map((word) => `(?<!${wordCharacter})${word}(?!${wordCharacter})`);
  const parts = texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  return new RegExp([...whole, ...parts].join("|"), "giu");
}

/** The first matches in a text, at most `most`. */
export function matchesInText(pattern: RegExp, path: string, text: string, most: number): SearchMatch[] {
  const matches: SearchMatch[] = [];
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (matches.length === most) break;
    if (match !== "") matches.push({ path, at: characterCount(text.slice(0, index)), length: characterCount(match) });
  }
  return matches;
}

/** The first matches in the names and values of a document, at most `most`. The document may be cut off. */
export function matchesInDocument(pattern: RegExp, column: string, document: string, most: number): SearchMatch[] {
  const matches: SearchMatch[] = [];
  for (const { text, path, isName } of textsOf(document)) {
    const found = matchesInText(pattern, "", text, most - matches.length);
    if (found.length === 0) continue;
    const where = joinPath([column, ...path()]);
    matches.push(...found.map(({ at, length }) => ({ path: where, ...(!isName && { at }), length })));
    if (matches.length === most) break;
  }
  return matches;
}

interface DocumentText {
  text: string;
  /** To be called before the next text is asked for. */
  path: () => Array<string | number>;
  isName: boolean;
}

/** What is open around the text at hand: an object with its current name, or a list with its current position. */
interface Level {
  at: string | number;
  /** Of an object: what comes next is a name. */
  expectsName: boolean;
}

/** The names, strings and other values of a document in order, as far as it goes. */
function* textsOf(document: string): Generator<DocumentText> {
  const levels: Level[] = [];
  const path = () => levels.map(({ at }) => at);
  for (let from = 0; from < document.length;) {
    const level = levels.at(-1);
    const character = document.charAt(from);
    if (character === '"') {
      const to = endOfString(document, from);
      if (to === undefined) return;
      const text = decodeString(document, from, to);
      const isName = level?.expectsName === true;
      if (isName) level.at = text;
      yield { text, path, isName };
      from = to;
      continue;
    }
    if (character === "{" || character === "[") {
      levels.push(character === "{" ? { at: "", expectsName: true } : { at: 0, expectsName: false });
    } else if (character === "}" || character === "]") levels.pop();
    else if (character === ":" && level !== undefined) level.expectsName = false;
    else if (character === "," && level !== undefined) {
      if (typeof level.at === "number") level.at++;
      else level.expectsName = true;
    } else if (!/\s/.test(character)) {
      const [text = ""] = /^[^\s,\]}]+/.exec(document.slice(from, from + 1000)) ?? [];
      yield { text, path, isName: false };
      from += Math.max(1, text.length);
      continue;
    }
    from++;
  }
}

function endOfString(document: string, from: number): number | undefined {
  try {
    return stringEnd(document, from);
  } catch {
    return undefined;
  }
}
