import { HeddleError } from "@heddle/errors";

/**
 * Exactly one JSON document as it was sent: number spelling, key order, duplicate keys and spacing are kept.
 * Beyond the standard it may hold bare NaN, Infinity and -Infinity, which Python clients write.
 */
export type JsonText = string;

const quote = 34;
const backslash = 92;

/** Index of the first character at or after `at` that is not JSON white space. */
export function spaceEnd(text: string, at: number): number {
  let index = at;
  for (;;) {
    const code = text.charCodeAt(index);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return index;
    index++;
  }
}

/** Index after the string whose opening quote is at `at`. */
export function stringEnd(text: string, at: number): number {
  let end = text.indexOf('"', at + 1);
  while (end >= 0) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before--;
    if (((end - before) & 1) === 1) return end + 1;
    end = text.indexOf('"', end + 1);
  }
  throw notJson(at);
}

/** Index after the value that begins at `at` (which is not white space). Brackets are only counted, not matched. */
export function valueEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === quote) return stringEnd(text, at);
  if (first !== 123 && first !== 91) return scalarEnd(text, at);
  let depth = 0;
  for (let index = at; index < text.length;) {
    const code = text.charCodeAt(index);
    if (code === quote) {
      index = stringEnd(text, index);
      continue;
    }
    index++;
    if (code === 123 || code === 91) depth++;
    else if ((code === 125 || code === 93) && --depth === 0) return index;
  }
  throw notJson(at);
}

function scalarEnd(text: string, at: number): number {
  for (let index = at; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 44 || code === 125 || code === 93 || code <= 32) {
      if (index === at) throw notJson(at);
      return index;
    }
  }
  if (at >= text.length) throw notJson(at);
  return text.length;
}

export function notJson(at: number): HeddleError {
  return new HeddleError("invalid", `not a JSON document (at character ${at})`);
}
