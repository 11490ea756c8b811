import type { Problem } from "../problem.js";

/** How errors are written. */
export interface ErrorFormat {
  interface: "tracing" | "training";
  /** Adds the object `error` of the OpenAI API. */
  errorObject: boolean;
}

export function problemBody(problem: Problem, format: ErrorFormat): Record<string, unknown> {
  const body = interfaceBody(problem, format.interface);
  return format.errorObject ? { error: errorObjectOf(problem), ...body } : body;
}

/** The error body of each interface. */
function interfaceBody(problem: Problem, kind: ErrorFormat["interface"]): Record<string, unknown> {
  if (problem.details) return { detail: problem.details };
  return kind === "tracing"
    ? { reason: problem.message, ...problem.extras }
    : { detail: problem.message, ...problem.extras };
}

/** The error as clients of the OpenAI API read it (`x-heddle-error-object`). */
interface ErrorObject {
  message: string;
  type: string;
  /** The field that is wrong, without the part of the request that it is in. */
  param: string | null;
  code: number;
}

const types: Readonly<Record<number, string>> = {
  400: "BadRequestError",
  401: "AuthenticationError",
  403: "PermissionDeniedError",
  404: "NotFoundError",
  413: "RequestTooLargeError",
  422: "UnprocessableEntityError",
  429: "RateLimitError",
  500: "InternalServerError",
  501: "NotImplementedError",
  503: "ServiceUnavailableError",
};

function errorObjectOf({ status, message, loc, details }: Problem): ErrorObject {
  const path = (details?.[0]?.loc ?? loc ?? []).slice(1);
  return {
    message,
    type: types[status] ?? (status < 500 ? "BadRequestError" : "InternalServerError"),
    param: path.length === 0 ? null : path.join("."),
    code: status,
  };
}
