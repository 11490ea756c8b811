import { Problem } from "@heddle/server-stub";

/** What the packages below throw: a small error with a code, never a status. */
interface CodedError extends Error {
  code: string;
  /** Names the field at fault, from the request's root. */
  loc?: readonly (string | number)[];
  /** More keys for the answer's body, for example `deleted_at`. */
  extras?: Readonly<Record<string, unknown>>;
  /** For `busy`: seconds after which a retry makes sense. */
  retry_after?: number;
}

/** The one table from code to status. */
const statuses: Record<string, number> = {
  invalid: 400,
  forbidden_field: 422,
  collision: 400,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  busy: 503,
};

/** Turns an error of the packages below into its answer; undefined for anything unknown, which becomes a 500. */
export function problemOf(error: unknown): Problem | undefined {
  if (!isCoded(error)) return undefined;
  const status = statuses[error.code];
  if (status === undefined) return undefined;
  if (status === 422) {
    return Problem.invalid([{ loc: ["body", ...(error.loc ?? [])], msg: error.message, type: "value_error" }]);
  }
  return new Problem(status, error.message, {
    extras: error.extras,
    headers: status === 503 ? { "retry-after": String(Math.ceil(error.retry_after ?? 1)) } : undefined,
  });
}

function isCoded(error: unknown): error is CodedError {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
