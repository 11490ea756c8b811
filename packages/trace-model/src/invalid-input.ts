/**
 * Input that has no meaning in the trace model. `loc` is the path to the offending part as the caller named it.
 * `forbidden_field` marks a query or sort over a field that does not exist or may not be used; all else is `shape`.
 */
export class InvalidInput extends Error {
  readonly code = "invalid";
  readonly reason: "shape" | "forbidden_field";
  readonly loc: ReadonlyArray<string | number>;

  constructor(
    message: string,
    options: { loc?: ReadonlyArray<string | number>; reason?: "shape" | "forbidden_field" } = {},
  ) {
    super(message);
    this.name = "InvalidInput";
    this.loc = options.loc ?? [];
    this.reason = options.reason ?? "shape";
  }
}
