import { arrayItems, jsonType, objectEntries, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** Whether two texts hold the same JSON value: order of members aside, and 1 as 1.0, but large integers exactly. */
export function sameJson(one: JsonText, other: JsonText): boolean {
  if (one === other) return true;
  const type = jsonType(one);
  if (type !== jsonType(other)) return false;
  switch (type) {
    case "string":
      return stringValue(one) === stringValue(other);
    case "number":
      return sameNumber(one.trim(), other.trim());
    case "array":
      return sameItems(arrayItems(one), arrayItems(other));
    case "object":
      return sameMembers(membersOf(one), membersOf(other));
    default:
      return one.trim() === other.trim();
  }
}

function sameNumber(one: string, other: string): boolean {
  const value = Number(one);
  return one === other || (value === Number(other) && (Number.isSafeInteger(value) || !Number.isInteger(value)));
}

function sameItems(one: readonly JsonText[], other: readonly JsonText[]): boolean {
  return one.length === other.length && one.every((item, index) => sameJson(item, other[index] ?? "null"));
}

/** The last value of a repeated key counts, as JSON parsers have it. */
const membersOf = (text: JsonText) => new Map(objectEntries(text).map(({ key, value }) => [key, value]));

function sameMembers(one: ReadonlyMap<string, JsonText>, other: ReadonlyMap<string, JsonText>): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([key, value]) => {
    const counterpart = other.get(key);
    return counterpart !== undefined && sameJson(value, counterpart);
  });
}
