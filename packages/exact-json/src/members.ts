import { notJson, spaceEnd, stringEnd, valueEnd } from "./scan.js";
import type { JsonText } from "./scan.js";

export type JsonType = "object" | "array" | "string" | "number" | "boolean" | "null";

/** What kind of value the text holds. Bare NaN and Infinity count as numbers. */
export function jsonType(text: JsonText): JsonType {
  switch (text[spaceEnd(text, 0)]) {
    case "{":
      return "object";
    case "[":
      return "array";
    case '"':
      return "string";
    case "t":
    case "f":
      return "boolean";
    case "n":
      return "null";
    default:
      return "number";
  }
}

/** Members of an object in order, duplicates included; nothing for any other value. Values are exact slices. */
export function objectEntries(text: JsonText): Array<{ key: string; value: JsonText }> {
  const entries: Array<{ key: string; value: JsonText }> = [];
  forEachMember(text, (key, from, to) => {
    entries.push({ key, value: text.slice(from, to) });
  });
  return entries;
}

/**
 * Calls `visit` with each member's key and the position of its value, until it returns false. Does nothing when the text is not
 * an object.
 */
export function forEachMember(
  text: JsonText,
  visit: (key: string, valueFrom: number, valueTo: number) => unknown,
): void {
  let at = spaceEnd(text, 0);
  if (text[at] !== "{") return;
  at = spaceEnd(text, at + 1);
  if (text[at] === "}") return;
  for (;;) {
    if (text[at] !== '"') throw notJson(at);
    const keyTo = stringEnd(text, at);
    const key = decodeString(text, at, keyTo);
    const colon = spaceEnd(text, keyTo);
    if (text[colon] !== ":") throw notJson(colon);
    const from = spaceEnd(text, colon + 1);
    const to = valueEnd(text, from);
    if (visit(key, from, to) === false) return;
    at = spaceEnd(text, to);
    if (text[at] === "}") return;
    if (text[at] !== ",") throw notJson(at);
    at = spaceEnd(text, at + 1);
  }
}

/** Items of a list as exact slices; nothing for any other value. */
export function arrayItems(text: JsonText): JsonText[] {
  const items: JsonText[] = [];
  forEachItem(text, (_, from, to) => items.push(text.slice(from, to)));
  return items;
}

/** Calls `visit` with each item's index and position, until it returns false. Does nothing when the text is not a list. */
export function forEachItem(text: JsonText, visit: (index: number, from: number, to: number) => unknown): void {
  let at = spaceEnd(text, 0);
  if (text[at] !== "[") return;
  at = spaceEnd(text, at + 1);
  if (text[at] === "]") return;
  for (let index = 0; ; index++) {
    const to = valueEnd(text, at);
    if (visit(index, at, to) === false) return;
    at = spaceEnd(text, to);
    if (text[at] === "]") return;
    if (text[at] !== ",") throw notJson(at);
    at = spaceEnd(text, at + 1);
  }
}

/** The value of a key (the last one when it is repeated, as JSON parsers do). */
export function memberOf(text: JsonText, name: string): JsonText | undefined {
  let from = -1;
  let to = -1;
  forEachMember(text, (key, valueFrom, valueTo) => {
    if (key !== name) return;
    from = valueFrom;
    to = valueTo;
  });
  return from < 0 ? undefined : text.slice(from, to);
}

/** The string a JSON text holds, or undefined when it holds something else. */
export function stringValue(text: JsonText): string | undefined {
  const at = spaceEnd(text, 0);
  return text[at] === '"' ? decodeString(text, at, stringEnd(text, at)) : undefined;
}

/** The string under a key; undefined when there is none, or something else. */
export function stringMember(text: JsonText, name: string): string | undefined {
  const member = memberOf(text, name);
  return member === undefined ? undefined : stringValue(member);
}

/** Decodes the string literal between two positions, quotes included. */
export function decodeString(text: string, from: number, to: number): string {
  // A search in the whole text would read to its end for each of its strings.
  const inside = text.slice(from + 1, to - 1);
  return inside.includes("\\") ? (JSON.parse(text.slice(from, to)) as string) : inside;
}

/** Returns the text of an object whose members are JSON texts. */
export function objectText(members: Iterable<readonly [name: string, value: JsonText]>): JsonText {
  return `{${Array.from(members, ([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}
