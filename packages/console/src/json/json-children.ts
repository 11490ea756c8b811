import { decodeString, forEachItem, forEachMember, jsonType } from "@heddle/exact-json";
import type { JsonType } from "@heddle/exact-json";

/** A member of an object or an item of a list: where its text is, and nothing of what is in it. */
export interface JsonChild {
  /** Of a member; duplicates have the same. */
  key?: string;
  /** Of an item. */
  index?: number;
  type: JsonType;
  from: number;
  to: number;
}

export interface JsonChildren {
  children: JsonChild[];
  /** Whether others follow. */
  more: boolean;
}

/** Children that are located at a time. */
export const childrenStep = 500;

/**
 * Locates children of the value at a place of a text, `skip` of them left out. Reads what it passes once and builds nothing, so
 * that values of any size are shown as they were sent: numbers, order and duplicate keys.
 */
export function jsonChildren(text: string, from: number, to: number, skip = 0): JsonChildren {
  // A slice of a long text is a view of it.
  const value = text.slice(from, to);
  const children: JsonChild[] = [];
  let seen = 0;
  let more = false;
  const take = (child: Pick<JsonChild, "key" | "index">, start: number, end: number): boolean => {
    if (seen++ < skip) return true;
    more = children.length === childrenStep;
    if (more) return false;
    children.push({ ...child, type: jsonType(value.slice(start, end)), from: from + start, to: from + end });
    return true;
  };
  if (jsonType(value) === "object") forEachMember(value, (key, start, end) => take({ key }, start, end));
  else forEachItem(value, (index, start, end) => take({ index }, start, end));
  return { children, more };
}

/** The text of a string value without quotes and escapes. A lone surrogate remains the escape that it was sent as. */
export function stringAt(text: string, from: number, to: number): string {
  const decoded = decodeString(text, from, to);
  return decoded.isWellFormed() ? decoded : text.slice(from + 1, to - 1);
}

/**
 * The first characters of the text of a string value, and whether they are all. It reads no more than these, however long the
 * value is.
 */
export function beginningAt(
  text: string,
  from: number,
  to: number,
  characters: number,
): { text: string; isAll: boolean } {
  const last = to - 1;
  let at = from + 1;
  for (let seen = 0; seen < characters && at < last; seen++) at += unitLength(text, at);
  // Both halves of a pair.
  if (at < last && isFirstHalf(text.slice(from + 1, at))) at += unitLength(text, at);
  if (at >= last) return { text: stringAt(text, from, to), isAll: true };
  const cut = `"${text.slice(from + 1, at)}"`;
  return { text: stringAt(cut, 0, cut.length), isAll: false };
}

/** How long the text of one unit of a string is: an escape, or the unit itself. */
const unitLength = (text: string, at: number): number => (text[at] !== "\\" ? 1 : text[at + 1] === "u" ? 6 : 2);

const isFirstHalf = (raw: string): boolean => /(?:[\uD800-\uDBFF]|\\u[Dd][89ABab][\dA-Fa-f]{2})$/.test(raw.slice(-6));
