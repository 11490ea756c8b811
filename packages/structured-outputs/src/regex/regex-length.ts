import type { Regex } from "./regex-syntax.js";

/**
 * Returns an expression for the texts of `regex` that have from `min` to `max` characters, where a count says so: the
 * lengths of the texts are in the range already, or one repeated character decides. Undefined otherwise.
 */
export function ofLength(regex: Regex, min: number, max: number | undefined): Regex | undefined {
  const range = lengths(regex);
  if (range === undefined) return undefined;
  const most = max ?? Number.POSITIVE_INFINITY;
  if (range.min >= min && range.max <= most) return regex;
  const parts = regex.kind === "sequence" ? regex.parts : [regex];
  const open = parts.filter((part) => {
    const each = lengths(part);
    return each?.min !== each?.max;
  });
  const [only] = open;
  if (open.length !== 1 || only?.kind !== "repeat" || only.part.kind !== "characters") return undefined;
  const others = range.min - only.min;
  const counts = { min: Math.max(only.min, min - others), max: Math.min(only.max ?? most, most - others) };
  if (counts.max < counts.min) return undefined;
  const counted: Regex = { ...only, min: counts.min, max: Number.isFinite(counts.max) ? counts.max : undefined };
  return { kind: "sequence", parts: parts.map((part) => (part === only ? counted : part)) };
}

/** Undefined where look-ahead decides. */
function lengths(regex: Regex): { min: number; max: number } | undefined {
  switch (regex.kind) {
    case "characters":
      return { min: 1, max: 1 };
    case "sequence": {
      const all = regex.parts.map(lengths);
      return all.reduce((sum, each) => sum && each && { min: sum.min + each.min, max: sum.max + each.max }, {
        min: 0,
        max: 0,
      });
    }
    case "choice": {
      const all = regex.options.map(lengths).filter((each) => each !== undefined);
      if (all.length < regex.options.length) return undefined;
      return { min: Math.min(...all.map(({ min }) => min)), max: Math.max(...all.map(({ max }) => max)) };
    }
    case "repeat": {
      const each = lengths(regex.part);
      const max = regex.max ?? Number.POSITIVE_INFINITY;
      return each && { min: each.min * regex.min, max: each.max === 0 || max === 0 ? 0 : each.max * max };
    }
    case "look":
      return undefined;
    default:
      return { min: 0, max: 0 };
  }
}
