import type { Detail } from "../problem.js";

/** A JSON value that exceeds a limit of depth or length. Inside a lenient list the item fails, otherwise the request. */
export class SchemaViolation extends Error {
  override readonly name = "SchemaViolation";
  readonly detail: Detail;

  constructor(detail: Detail) {
    super(detail.msg);
    this.detail = detail;
  }
}

/** `loc` is the location of a list with more items than `most`. */
export function tooMany(loc: Detail["loc"], most: number): SchemaViolation {
  return new SchemaViolation({ loc: [...loc], msg: `More than ${most} items`, type: "too_long" });
}

/** Type of an error that ends the whole request, also inside a lenient list. */
export const manyValues = "too_many_values";

/** `loc` is the location of the first value that is too many. */
export function tooManyValues(loc: Detail["loc"]): SchemaViolation {
  return new SchemaViolation({ loc: [...loc], msg: "The body has too many values", type: manyValues });
}

/** `loc` is the location of what is nested deeper than `levels`. */
export function tooDeep(loc: Detail["loc"], levels: number): SchemaViolation {
  return new SchemaViolation({ loc: [...loc], msg: `Nested deeper than ${levels} levels`, type: "nested_too_deep" });
}
