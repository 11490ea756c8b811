import { HeddleError, Mistakes, withLoc } from "@heddle/errors";
import { limits } from "@heddle/spec/tracing-limits";
import type { TypedField } from "./expression.js";
import type { FieldParser } from "./parse.js";

export interface SortKey<F extends TypedField> {
  field: F;
  direction: "asc" | "desc";
}

/** Keys of one order. */
export const maxSortKeys = limits.Query.sort_keys;

/** Reads a list of `{field, direction}`. Throws like `parseQuery`, with locs that begin with `sort_by`. */
export function parseSort<F extends TypedField>(sortBy: unknown, parseField: FieldParser<F>): Array<SortKey<F>> {
  const loc = ["sort_by"];
  if (!Array.isArray(sortBy)) throw new HeddleError("invalid", "sort_by must be a list", { loc });
  if (sortBy.length > maxSortKeys)
    throw new HeddleError("invalid", `sort_by has more than ${maxSortKeys} keys`, { loc });
  const mistakes = new Mistakes();
  const keys = mistakes.attemptEach(sortBy as readonly unknown[], (item, index): SortKey<F> => {
    const at = [...loc, index];
    if (typeof item !== "object" || item === null) {
      throw new HeddleError("invalid", "a sort key is an object with field and direction", { loc: at });
    }
    const { field, direction, ...rest } = item as Record<string, unknown>;
    const [unknownKey] = Object.keys(rest);
    if (unknownKey !== undefined) {
      throw new HeddleError("invalid", `unknown key ${unknownKey}`, { loc: [...at, unknownKey] });
    }
    if (typeof field !== "string") {
      throw new HeddleError("invalid", "field must be a path", { loc: [...at, "field"] });
    }
    if (direction !== "asc" && direction !== "desc") {
      throw new HeddleError("invalid", "direction must be asc or desc", { loc: [...at, "direction"] });
    }
    return { field: withLoc([...at, "field"], () => parseField(field)), direction };
  });
  mistakes.throwAll();
  return keys;
}
