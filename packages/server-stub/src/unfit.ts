import type { Detail } from "./problem.js";
import { typeDetail } from "./validation.js";

/** A value that JSON allows and the plan does not. Inside a lenient list it costs the item, else the request. */
export class Unfit extends Error {
  override readonly name = "Unfit";
  readonly detail: Detail;
  /** Deeper or longer than anything that is read. */
  readonly tooLarge: boolean;

  constructor(detail: Detail, tooLarge: boolean) {
    super(detail.msg);
    this.detail = detail;
    this.tooLarge = tooLarge;
  }
}

/** `loc` is the list that has more items than `most`. */
export function tooMany(loc: Detail["loc"], most: number): Unfit {
  return new Unfit({ loc: [...loc], msg: `More than ${most} items`, type: "too_long" }, true);
}

/** `loc` is the place that is nested deeper than `levels`. */
export function tooDeep(loc: Detail["loc"], levels: number): Unfit {
  return new Unfit({ loc: [...loc], msg: `Nested deeper than ${levels} levels`, type: "nested_too_deep" }, true);
}

/** Free JSON at `loc` is of none of the types it may have. */
export function wrongType(loc: Detail["loc"], types: string[]): Unfit {
  return new Unfit({ loc: [...loc], ...typeDetail(types) }, false);
}
