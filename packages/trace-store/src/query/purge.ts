import { HeddleError } from "@heddle/errors";

const maxIds = 10_000;

/**
 * Reads the ids that a purge names. A purge takes `$eq` of the field `id` and a text, `$or` of those, and `$in` of the
 * field `id` and texts. Anything else is `invalid`, so that no condition ever removes more than it names.
 */
export function purgedIds(query: unknown): string[] {
  const condition = onlyMember(query, "$expr");
  const ids = idsOf(condition);
  if (ids === undefined) {
    throw new HeddleError(
      "invalid",
      'a purge names rows by id: {"$eq": [{"$getField": "id"}, {"$literal": "…"}]}, {"$or": […]} of these, or {"$in": [{"$getField": "id"}, [{"$literal": "…"}]]}',
      { loc: ["query"] },
    );
  }
  if (ids.length > maxIds) {
    throw new HeddleError("invalid", `a purge names at most ${maxIds} ids`, { loc: ["query"] });
  }
  return [...new Set(ids)];
}

function idsOf(condition: unknown): string[] | undefined {
  const alternatives = onlyMember(condition, "$or");
  if (!Array.isArray(alternatives)) return simpleIdsOf(condition);
  if (alternatives.length === 0) return undefined;
  const ids: string[] = [];
  for (const alternative of alternatives) {
    const some = simpleIdsOf(alternative);
    if (some === undefined) return undefined;
    ids.push(...some);
  }
  return ids;
}

function simpleIdsOf(condition: unknown): string[] | undefined {
  const list = onlyMember(condition, "$in");
  if (list !== undefined) return isPair(list) && isIdField(list[0]) ? literals(list[1]) : undefined;
  const sides = onlyMember(condition, "$eq");
  return isPair(sides) && isIdField(sides[0]) ? literals([sides[1]]) : undefined;
}

function literals(values: unknown): string[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const texts = values.map((value: unknown) => onlyMember(value, "$literal"));
  return texts.every((text) => typeof text === "string") ? texts : undefined;
}

function isIdField(value: unknown): boolean {
  return onlyMember(value, "$getField") === "id";
}

function isPair(value: unknown): value is [unknown, unknown] {
  return Array.isArray(value) && value.length === 2;
}

/** The value of a member that is the only one of its object; undefined otherwise. */
function onlyMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const entries = Object.entries(value);
  return entries.length === 1 && entries[0]?.[0] === name ? entries[0][1] : undefined;
}
