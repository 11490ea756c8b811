import { forEachItem, forEachMember, jsonType } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

const redacted: JsonText = '"[redacted]"';

/** The text without the values at some paths; of repeated keys without all. Every other character stays as it is. */
export function redact(text: JsonText, paths: ReadonlyArray<readonly string[]>): JsonText {
  if (paths.length === 0) return text;
  if (paths.some((path) => path.length === 0)) return redacted;
  let result = "";
  let copied = 0;
  const visit = (key: string | number, from: number, to: number): void => {
    const inner = paths.filter(([segment = ""]) => isKey(segment, key)).map((path) => path.slice(1));
    if (inner.length === 0) return;
    result += text.slice(copied, from) + redact(text.slice(from, to), inner);
    copied = to;
  };
  if (jsonType(text) === "object") forEachMember(text, visit);
  else forEachItem(text, visit);
  return result + text.slice(copied);
}

/** As paths of queries lead to items of lists. */
const isKey = (segment: string, key: string | number): boolean =>
  typeof key === "string" ? segment === key : /^\d+$/.test(segment) && Number(segment) === key;
