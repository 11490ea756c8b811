/** One entry of a 422 response. `loc` starts with `body`, `query`, `path` or `header`. */
export interface Detail {
  loc: (string | number)[];
  msg: string;
  type: string;
}

export interface ProblemOptions {
  /** Further keys of the error body. */
  extras?: Record<string, unknown>;
  /** Further headers, lower-case names (`retry-after`). */
  headers?: Record<string, string>;
  /** Location in the request that is wrong, for error bodies that state it apart from the reason. */
  loc?: readonly (string | number)[];
}

/**
 * What a handler throws to respond with an error. The server writes it in the error body of its interface.
 *
 * ```ts
 * throw new Problem(404, "no such object", { extras: { deleted_at } });
 * throw new Problem(503, "the engine restarts", { headers: { "retry-after": "1" } });
 * throw Problem.invalid([{ loc: ["body", "limit"], msg: "Must be positive", type: "value_error" }]);
 * ```
 */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly extras: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly loc: readonly (string | number)[] | undefined;
  /** Present on 422 responses of validation; they have a body of their own shape. */
  readonly details: Detail[] | undefined;

  constructor(status: number, reason: string, options: ProblemOptions & { details?: Detail[] } = {}) {
    super(reason);
    this.status = status;
    this.extras = options.extras ?? {};
    this.headers = options.headers ?? {};
    this.loc = options.loc;
    this.details = options.details;
  }

  /** 422 in the shape that validation has in both interfaces. */
  static invalid(details: Detail[]): Problem {
    const reason = details.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
    return new Problem(422, reason, { details });
  }
}

/** Replaces an item that did not fit the spec in a list marked x-heddle-lenient-items. */
export class ItemError implements Detail {
  readonly loc: (string | number)[];
  readonly msg: string;
  readonly type: string;

  constructor({ loc, msg, type }: Detail) {
    this.loc = loc;
    this.msg = msg;
    this.type = type;
  }
}
