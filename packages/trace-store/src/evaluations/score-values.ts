import { jsonType, objectEntries } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** What stands at a place of the scores of a trial: "other" for lists and for numbers that no double holds. */
export type ScoreValue = boolean | number | "text" | "other";

/**
 * Calls `visit` with each value in the scores of a trial, an object by the names of scorers, and with the way to it. Of
 * repeated keys the last one counts, as JSON parsers do; null is not a value.
 */
export function forEachScore(scores: JsonText, visit: (path: readonly string[], value: ScoreValue) => void): void {
  const walk = (object: JsonText, path: readonly string[]) => {
    const members = new Map(objectEntries(object).map(({ key, value }) => [key, value]));
    for (const [key, value] of members) {
      const at = [...path, key];
      const type = jsonType(value);
      if (type === "object") walk(value, at);
      else if (type !== "null") visit(at, valueOf(type, value));
    }
  };
  walk(scores, []);
}

function valueOf(type: string, text: JsonText): ScoreValue {
  if (type === "boolean") return text.trim() === "true";
  if (type === "string") return "text";
  return type === "number" && Number.isFinite(Number(text)) ? Number(text) : "other";
}
