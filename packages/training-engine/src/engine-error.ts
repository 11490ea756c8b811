/**
 * What the engine refuses or could not do.
 *
 * `invalid`: the request can never work as it is; `path` names the place in it (`trajectory_groups.0.trajectories.2.reward`).
 * `not_found`: no such base model or checkpoint. `unsupported`: this engine cannot do that (another one may).
 * `too_large`: the memory or context it needs is more than there is; the message has both numbers.
 * `busy`: try again. `aborted`: the caller asked for the end. `failed`: a process of the engine died or went silent; the
 * work is lost, the engine goes on.
 */
export class EngineError extends Error {
  override name = "EngineError";
  constructor(
    readonly code: "invalid" | "not_found" | "unsupported" | "too_large" | "busy" | "aborted" | "failed",
    message: string,
    readonly path?: string,
  ) {
    super(message);
  }
}
