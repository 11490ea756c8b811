import { HeddleError } from "@heddle/errors";
import type { ErrorCode, Loc } from "@heddle/errors";
import { BodyStalled, Overloaded, Problem, requestLoc, ResponseTooLarge } from "@heddle/server-stub";
import type { Detail, OperationEntry } from "@heddle/server-stub";
import { responseTooLarge } from "../limits/request-scope.js";

/**
 * The one table from code to status. An error that becomes 500 is logged; the response does not give its reason, except
 * that stored data is corrupt or lost.
 */
const statuses: Record<ErrorCode, number> = {
  invalid: 400,
  unprocessable: 422,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  rate_limited: 429,
  unsupported: 400,
  busy: 503,
  denied: 503,
  aborted: 503,
  failed: 500,
  corrupt: 500,
  incompatible: 500,
};

/** Seconds after which a request that got 429 or 503 can be sent again: the engine restarts faster than that. */
const retryAfter = "1";

/**
 * Turns an error of the packages below into its response; undefined for anything unknown, which becomes a 500. The loc
 * of the error is relative to the input of the operation: names of parameters and of members of the body.
 */
export function problemOf(error: unknown, operation?: OperationEntry): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof ResponseTooLarge) return problemOf(responseTooLarge(error.maxLength), operation);
  if (!(error instanceof HeddleError)) return refusalOf(error);
  const { code, message, details } = error;
  const status = statuses[code];
  // Trying again does not bring the data back.
  if (code === "corrupt") return new Problem(status, message, { headers: { "x-should-retry": "false" } });
  if (status === 500) return undefined;
  const { all } = error;
  if (all.some((one) => statuses[one.code] === 422)) return Problem.invalid(all.map((one) => detailOf(one, operation)));
  const loc = error.loc && requestLoc(operation, error.loc);
  const reasons = all.map((one) => {
    const at = one.loc && requestLoc(operation, one.loc);
    return at === undefined ? one.message : `${at.join(".")}: ${one.message}`;
  });
  return new Problem(status, reasons.join("; "), {
    extras: { ...details },
    headers: status === 429 || status === 503 ? { "retry-after": retryAfter } : {},
    ...(loc && { loc }),
  });
}

/** A mistake in a request, as an entry of a 422 response. */
export function detailOf({ loc, message }: HeddleError, operation: OperationEntry | undefined): Detail {
  return { loc: loc === undefined ? ["body"] : requestLoc(operation, loc), msg: message, type: "value_error" };
}

/** What the HTTP server refuses, and what fails because the process has no file left to open. */
function refusalOf(error: unknown): Problem | undefined {
  if (error instanceof BodyStalled) return new Problem(408, `${error.message} (HEDDLE_BODY_TIMEOUT)`);
  const headers = { "retry-after": retryAfter };
  if (error instanceof Overloaded) {
    return new Problem(503, `${error.message} (HEDDLE_BODY_MEMORY)`, { headers: { ...headers, connection: "close" } });
  }
  return hasNoFileLeft(error)
    ? new Problem(503, "The service has too many files and connections open", { headers })
    : undefined;
}

/** Of the process (EMFILE) or of the machine (ENFILE); `fetch` has the error as the cause of its own. */
function hasNoFileLeft(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && (error.code === "EMFILE" || error.code === "ENFILE")) || hasNoFileLeft(error.cause);
}

/**
 * The same error as one item's entry, for requests that keep their good items; undefined for what fails the request.
 */
export function itemDetailOf(error: unknown, loc: Loc): Detail | undefined {
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
