/**
 * What the control plane refuses: `invalid` (a name, role or URL that cannot be), `not_found`, `conflict` (somebody
 * else has it), `busy` (the database does not answer, refuses us, or another process keeps writing; try again),
 * `newer_database` (a later version of the program has been here).
 *
 * The message may be told to callers; places and accounts stand in the cause, for the operator.
 */
export class ControlPlaneError extends Error {
  override name = "ControlPlaneError";
  constructor(
    readonly code: "invalid" | "not_found" | "conflict" | "busy" | "newer_database",
    message: string,
    /** Which argument is meant, as in `["projects", 0]`. */
    readonly path: readonly (string | number)[] = [],
    options?: { cause: Error },
  ) {
    super(message, options);
  }
}
