import { decodeString, spaceEnd, stringEnd } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { parseRef } from "./ref.js";

/**
 * All string values in the text that are refs, each once, in order of appearance; keys do not count.
 * The scheme itself must be unescaped (an escaped `/` is fine), which is what every JSON printer does.
 */
export function findRefs(text: JsonText): string[] {
  let at = text.indexOf('"weave:');
  if (at < 0) return [];
  const found = new Set<string>();
  while (at >= 0) {
    const next = at + 1;
    // After a backslash the quote is inside a string; anywhere else it opens one, as no string can follow a closing
    // quote.
    if (text[at - 1] !== "\\") {
      const end = stringEnd(text, at);
      const value = decodeString(text, at, end);
      if (text[spaceEnd(text, end)] !== ":" && parseRef(value)) found.add(value);
    }
    at = text.indexOf('"weave:', next);
  }
  return [...found];
}
