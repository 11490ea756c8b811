import { stringEnd } from "./scan.js";
import type { JsonText } from "./scan.js";

/** Whether lists and objects are nested more than `limit` deep (`{}` is 1 deep, `1` is 0). */
export function exceedsNesting(text: JsonText, limit: number): boolean {
  if (!hasMoreBrackets(text, limit)) return false;
  let depth = 0;
  for (let index = 0; index < text.length;) {
    const code = text.charCodeAt(index);
    if (code === 34) {
      index = stringEnd(text, index);
      continue;
    }
    if (code === 123 || code === 91) {
      if (++depth > limit) return true;
    } else if (code === 125 || code === 93) depth--;
    index++;
  }
  return false;
}

/** The cheap question first: are there enough opening brackets at all, strings included? */
function hasMoreBrackets(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false;
  let count = 0;
  for (const bracket of "{[") {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++count > limit) return true;
    }
  }
  return false;
}
