import { forEachMember, jsonType } from "./members.js";
import type { JsonText } from "./scan.js";

/**
 * The object text with these members set: present keys get the new value in place, others are appended, and every
 * other character stays as it is. A text that is no object counts as `{}`.
 */
export function withMembers(text: JsonText, members: Readonly<Record<string, JsonText>>): JsonText {
  const object = jsonType(text) === "object" ? text : "{}";
  const places = new Map<string, { from: number; to: number }>();
  let filled = false;
  forEachMember(object, (key, from, to) => {
    filled = true;
    if (Object.hasOwn(members, key)) places.set(key, { from, to });
  });
  let result = "";
  let copied = 0;
  for (const [key, { from, to }] of [...places].toSorted(([, a], [, b]) => a.from - b.from)) {
    result += object.slice(copied, from) + members[key];
    copied = to;
  }
  const close = object.lastIndexOf("}");
  const added = Object.entries(members)
    .filter(([key]) => !places.has(key))
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  const comma = filled && added.length > 0 ? "," : "";
  return result + object.slice(copied, close) + comma + added.join(",") + object.slice(close);
}
