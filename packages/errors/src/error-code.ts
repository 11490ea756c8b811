/** Every kind of failure that a package reports, by what its caller can do about it. */
export type ErrorCode =
  /** The arguments can never be accepted as they are: send others. */
  | "invalid"
  /** A value has the right type but is none that its field can have, such as a field that cannot be queried. */
  | "unprocessable"
  /** The caller may not do this: use another key or another project. */
  | "forbidden"
  /** What the arguments name does not exist, or no longer. */
  | "not_found"
  /** What is stored contradicts the arguments, or is in use by another caller: read its state, then decide. */
  | "conflict"
  /** The request, or the work it asks for, is larger than a limit: ask for less. */
  | "too_large"
  /** The caller has used up its share: send the request again later. */
  | "rate_limited"
  /** The arguments make sense, but neither this backend nor this model can do it: choose another one. */
  | "unsupported"
  /** A backend does not respond now, or has no capacity left: send the request again. */
  | "busy"
  /** A backend refuses the credentials or the location it was given: an operator changes the configuration. */
  | "denied"
  /** The work was stopped before its end, by its owner or because the service stops. */
  | "aborted"
  /** A part of the program ended or gave no usable result; its work is lost, and the program goes on. */
  | "failed"
  /** Stored data is not what was written: an operator restores it. */
  | "corrupt"
  /**
   * Stored data is of a newer version or of another installation: an operator starts the program that it belongs to.
   */
  | "incompatible";
