import { arrayItems, forEachMember, jsonType, stringValue } from "../json/members.js";
import { type JsonText, spaceEnd, stringEnd, valueEnd } from "../json/scan.js";

/**
 * Follows a query path: a numeric segment selects from a list, any segment a key of an object. Of repeated keys the
 * first counts here, as in the store's JSON functions. Undefined when the path is missing or leads to JSON null.
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

/** The text a leaf compares as: strings decoded, numbers without a trailing `.0`, lists and objects minified. */
export function leafText(leaf: JsonText | undefined): string {
  if (leaf === undefined) return "";
  const string = stringValue(leaf);
  if (string !== undefined) return string;
  const token = leaf.trim();
  if (jsonType(leaf) !== "number") return minified(token);
  return /[.eE]/.test(token) ? String(Number(token)) : token;
}

function stepInto(text: JsonText, segment: string): JsonText | undefined {
  if (jsonType(text) === "array") {
    return /^\d+$/.test(segment) ? arrayItems(text)[Number(segment)] : undefined;
  }
  let found: JsonText | undefined;
  forEachMember(text, (key, from, to) => {
    if (key === segment) found ??= text.slice(from, to);
  });
  return found;
}

function minified(text: JsonText): string {
  let result = "";
  for (let at = spaceEnd(text, 0); at < text.length;) {
    const code = text[at] ?? "";
    let end = at + 1;
    if (code === '"') end = stringEnd(text, at);
    else if (!"{}[]:,".includes(code)) end = valueEnd(text, at);
    result += text.slice(at, end);
    at = spaceEnd(text, end);
  }
  return result;
}
