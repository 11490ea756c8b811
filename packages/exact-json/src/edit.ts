import { forEachMember, jsonType } from "./members.js";
import { spaceEnd } from "./scan.js";
import type { JsonText } from "./scan.js";

/**
 * The object text with these members set: present keys get the new value in place, others are appended, and every
 * other character stays as it is. A text that is not an object counts as `{}`.
 */
export function withMembers(text: JsonText, members: Readonly<Record<string, JsonText>>): JsonText {
  const object = jsonType(text) === "object" ? text : "{}";
  const keys = Object.keys(members);
  if (!object.includes("\\") && !keys.some((key) => object.includes(JSON.stringify(key)))) {
    return appended(object, members, keys);
  }
  const positions = new Map<string, { from: number; to: number }>();
  forEachMember(object, (key, from, to) => {
    if (Object.hasOwn(members, key)) positions.set(key, { from, to });
  });
  let result = "";
  let copied = 0;
  for (const [key, { from, to }] of [...positions].toSorted(([, a], [, b]) => a.from - b.from)) {
    result += object.slice(copied, from) + members[key];
    copied = to;
  }
  const missing = keys.filter((key) => !positions.has(key));
  return appended(result + object.slice(copied), members, missing);
}

function appended(object: JsonText, members: Readonly<Record<string, JsonText>>, keys: readonly string[]): JsonText {
  if (keys.length === 0) return object;
  const close = object.lastIndexOf("}");
  let result = object.slice(0, close);
  let separator = object[spaceEnd(object, object.indexOf("{") + 1)] === "}" ? "" : ",";
  for (const key of keys) {
    result += `${separator}${JSON.stringify(key)}:${members[key]}`;
    separator = ",";
  }
  return result + object.slice(close);
}
