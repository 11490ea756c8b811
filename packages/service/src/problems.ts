import { Problem, type Detail } from "@heddle/server-stub";

/** What the packages below throw: a small error with a code, never a status. */
interface CodedError extends Error {
  code: string;
  /** `forbidden_field`: a query or sort names a field that may not be used. */
  reason?: string;
  /** Names the field at fault, with or without the leading "body". */
  loc?: readonly (string | number)[];
  /** The control plane's: which of its strings cannot be kept. */
  path?: readonly (string | number)[];
  /** More keys for the answer's body, for example `deleted_at`. */
  details?: Readonly<Record<string, unknown>>;
}

/** The one table from code to status. */
const statuses: Record<string, number> = {
  invalid: 400,
  collision: 400,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  busy: 503,
  denied: 503,
};

/** Seconds after which a busy engine is worth another try: a restart of it takes less. */
const retryAfter = "1";

/** Turns an error of the packages below into its answer; undefined for anything unknown, which becomes a 500. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!isCoded(error)) return undefined;
  const status = statuses[error.code];
  if (status === undefined) return undefined;
  const loc = bodyPlace(error.loc);
  if (error.reason === "forbidden_field") {
    return Problem.invalid([{ loc: loc ?? ["body"], msg: error.message, type: "value_error" }]);
  }
  if (error.code === "invalid" && error.path !== undefined) {
    return Problem.invalid([{ loc: ["body", ...error.path], msg: error.message, type: "value_error" }]);
  }
  return new Problem(status, loc === undefined ? error.message : `${loc.join(".")}: ${error.message}`, {
    extras: { ...error.details },
    headers: status === 503 ? { "retry-after": retryAfter } : {},
  });
}

/** The same error as one item's entry, for requests that keep their good items; undefined for what fails the request. */
export function itemDetailOf(error: unknown, loc: readonly (string | number)[]): Detail | undefined {
  const problem = problemOf(error);
  if (problem === undefined || problem.status >= 500 || problem.status === 401) return undefined;
  return (
    problem.details?.[0] ?? {
      loc: [...loc],
      msg: problem.message,
      type: problem.status === 403 ? "forbidden" : "value_error",
    }
  );
}

function bodyPlace(loc: CodedError["loc"]): (string | number)[] | undefined {
  if (loc === undefined || loc.length === 0) return undefined;
  return loc[0] === "body" ? [...loc] : ["body", ...loc];
}

function isCoded(error: unknown): error is CodedError {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
