import {
  decodeString,
  forEachItem,
  forEachMember,
  jsonType,
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
  return leavesAt(text, [path])[0];
}

/** Follows many paths as {@link leafAt} does; no part of the text is read once for each of them. */
export function leavesAt(text: JsonText, paths: ReadonlyArray<readonly string[]>): Array<JsonText | undefined> {
  const found: Array<JsonText | undefined> = paths.map(() => undefined);
  const follow = (current: JsonText, which: readonly number[], depth: number) => {
    const next = new Map<string, number[]>();
    for (const index of which) {
      const segment = paths[index]?.[depth];
      if (segment === undefined) found[index] = jsonType(current) === "null" ? undefined : current;
      else next.set(segment, [...(next.get(segment) ?? []), index]);
    }
    for (const [segment, value] of membersOf(current, next)) follow(value, next.get(segment) ?? [], depth + 1);
  };
  follow(text, [...paths.keys()], 0);
  return found;
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

/** The members and items that are wanted; of repeated keys the last. */
function membersOf(text: JsonText, wanted: ReadonlyMap<string, unknown>): Map<string, JsonText> {
  const found = new Map<string, JsonText>();
  if (wanted.size === 0) return found;
  if (jsonType(text) === "array") {
    const positions = new Map<number, string[]>();
    for (const segment of wanted.keys()) {
      if (/^\d+$/.test(segment)) positions.set(Number(segment), [...(positions.get(Number(segment)) ?? []), segment]);
    }
    forEachItem(text, (index, from, to) => {
      for (const segment of positions.get(index) ?? []) found.set(segment, text.slice(from, to));
    });
  } else {
    forEachMember(text, (key, from, to) => {
      if (wanted.has(key)) found.set(key, text.slice(from, to));
    });
  }
  return found;
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
