import { spaceEnd } from "./scan.js";

/**
 * Whether `JSON.parse` reads the text. Nothing is made of it: a text of 33 MB may stand for ten million values, for which a
 * thread has no memory.
 */
export function isJson(text: string): boolean {
  /** Of each list and object that is open, whether it is an object. */
  const open: boolean[] = [];
  let at = spaceEnd(text, 0);
  for (;;) {
    const first = text.charCodeAt(at);
    if (first === brace || first === bracket) {
      const isObject = first === brace;
      at = spaceEnd(text, at + 1);
      if (text.charCodeAt(at) !== closing(isObject)) {
        open.push(isObject);
        if (isObject) at = valueOfMember(text, at);
        if (at < 0) return false;
        continue;
      }
      at++;
    } else {
      at = scalarEnd(text, at);
      if (at < 0) return false;
    }
    for (;;) {
      at = spaceEnd(text, at);
      const isObject = open.at(-1);
      if (isObject === undefined) return at === text.length;
      const next = text.charCodeAt(at);
      if (next === comma) {
        at = spaceEnd(text, at + 1);
        if (isObject) at = valueOfMember(text, at);
        if (at < 0) return false;
        break;
      }
      if (next !== closing(isObject)) return false;
      open.pop();
      at++;
    }
  }
}

const [quote, comma, colon, bracket, backslash, brace] = [34, 44, 58, 91, 92, 123];
const closing = (isObject: boolean): number => (isObject ? 125 : 93);

/** Where the value of the member begins whose name is at `at`; -1 where there is none. */
function valueOfMember(text: string, at: number): number {
  if (text.charCodeAt(at) !== quote) return -1;
  const end = stringEnd(text, at);
  if (end < 0) return -1;
  const separator = spaceEnd(text, end);
  return text.charCodeAt(separator) === colon ? spaceEnd(text, separator + 1) : -1;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Where the text, number or name at `at` ends; -1 where there is none. */
function scalarEnd(text: string, at: number): number {
  if (text.charCodeAt(at) === quote) return stringEnd(text, at);
  for (const name of ["true", "false", "null"]) if (text.startsWith(name, at)) return at + name.length;
  number.lastIndex = at;
  return number.test(text) ? number.lastIndex : -1;
}

function stringEnd(text: string, at: number): number {
  for (let index = at + 1; ; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) return index + 1;
    if (code === backslash) {
      index++;
      if (text[index] === "u" && isHex(text, index + 1)) index += 4;
      else if (!'"\\/bfnrt'.includes(text[index] ?? " ")) return -1;
    } else if (!(code >= 32)) return -1;
  }
}

function isHex(text: string, at: number): boolean {
  for (let index = at; index < at + 4; index++) {
    const code = text.charCodeAt(index);
    const letter = code | 32;
    if (!((code >= 48 && code <= 57) || (letter >= 97 && letter <= 102))) return false;
  }
  return true;
}
