import {
  arrayItems,
  decodeString,
  jsonType,
  memberOf,
  spaceEnd,
  stringEnd,
  stringValue,
  valueEnd,
} from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/**
 * Follows a query path: a numeric segment selects from a list, any segment a key of an object. Undefined when the path is
 * missing or leads to JSON null.
 */
export function leafAt(text: JsonText, path: readonly string[]): JsonText | undefined {
  let current = text;
  for (const segment of path) {
    const next = stepInto(current, segment);
    if (next === undefined) return undefined;
    current = next;
  }
  return jsonType(current) === "null" ? undefined : current;
}

/**
 * The text a leaf compares as, which is how the store's JSON functions print it: strings decoded, numbers without a
 * trailing `.0`, lists and objects minified with their numbers and strings printed anew.
 */
export function leafText(leaf: JsonText | undefined): string {
  if (leaf === undefined) return "";
  const string = stringValue(leaf);
  return string ?? minified(leaf.trim());
}

function stepInto(text: JsonText, segment: string): JsonText | undefined {
  if (jsonType(text) === "array") {
    return /^\d+$/.test(segment) ? arrayItems(text)[Number(segment)] : undefined;
  }
  return memberOf(text, segment);
}

function minified(text: JsonText): string {
  let result = "";
  for (let at = 0; at < text.length;) {
    const first = text[at] ?? "";
    let end = at + 1;
    if (first === '"') {
      end = stringEnd(text, at);
      result += JSON.stringify(decodeString(text, at, end));
    } else if ("{}[]:,".includes(first)) result += first;
    else {
      end = valueEnd(text, at);
      result += scalarText(text.slice(at, end));
    }
    at = spaceEnd(text, end);
  }
  return result;
}

function scalarText(token: string): string {
  if (jsonType(token) !== "number") return token;
  if (!/[.eE]/.test(token)) return token === "-0" ? "0" : token;
  const value = Number(token);
  return Object.is(value, -0) ? "-0" : String(value).replace("e+", "e");
}
