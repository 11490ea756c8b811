/**
 * What the control plane refuses: `invalid` (a name, role or URL that cannot be), `not_found`, `conflict` (somebody
 * else has it), `busy` (no answer, or another process keeps writing; try again), `newer_database` (a later version of
 * the program has been here).
 */
export class ControlPlaneError extends Error {
  override name = "ControlPlaneError";
  constructor(
    readonly code: "invalid" | "not_found" | "conflict" | "busy" | "newer_database",
    message: string,
    /** Which argument is meant, as in `["projects", 0]`. */
    readonly path: readonly (string | number)[] = [],
  ) {
    super(message);
  }
}
