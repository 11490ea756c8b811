import type { ErrorBodies, ErrorBody, OperationsWith } from "./error-bodies.js";
import { HeddleApiError } from "./error.js";
import { mayPass } from "./retry.js";

/**
 * Whether a thrown value is the service's response of one status; with an operationId, that of this operation with the
 * body that the specification describes, which then has its type. A page of a proxy has no such body.
 */
export interface StatusPredicate<Status extends number> {
  (error: unknown): error is HeddleApiError;
  <Id extends OperationsWith<Status>>(
    error: unknown,
    operationId: Id,
  ): error is HeddleApiError<ErrorBody<Id, Status & keyof ErrorBodies[Id]>>;
}

// Functions, not subclasses: the client would construct each subclass, so every bundle would carry all of them.

/** 400: a value of the right type is not valid, such as a ref that cannot be parsed. */
export const isBadRequest: StatusPredicate<400> = /* @__PURE__ */ statusPredicate(400);

/** 401: no key was sent, or not a valid one. */
export const isUnauthorized: StatusPredicate<401> = /* @__PURE__ */ statusPredicate(401);

/** 403: the key may not do this. */
export const isForbidden: StatusPredicate<403> = /* @__PURE__ */ statusPredicate(403);

/** 404: it does not exist, or the key may not read its project. */
export const isNotFound: StatusPredicate<404> = /* @__PURE__ */ statusPredicate(404);

/** 409: what is stored contradicts the request. */
export const isConflict: StatusPredicate<409> = /* @__PURE__ */ statusPredicate(409);

/** 413: the request is larger, or asks for more, than one request may. */
export const isTooLarge: StatusPredicate<413> = /* @__PURE__ */ statusPredicate(413);

/** 422: a field is missing or wrong; `body.detail` lists each with its location. */
export const isInvalid: StatusPredicate<422> = /* @__PURE__ */ statusPredicate(422);

/** 429: more requests than the service takes of this key at the moment; see `retryAfter`. */
export const isRateLimited: StatusPredicate<429> = /* @__PURE__ */ statusPredicate(429);

/** 5XX: the request failed in the service, or in a proxy before it. */
export function isServerError(error: unknown): error is HeddleApiError {
  return error instanceof HeddleApiError && error.status >= 500;
}

/** The time limit of the client or of the network passed without a response. */
export function isTimeout(error: unknown): error is HeddleApiError {
  return error instanceof HeddleApiError && /TimeoutError|TIMEDOUT|TIMEOUT/.test(error.code ?? "");
}

/** There was no complete response, for another reason than time: no connection, or one that broke. */
export function isConnectionError(error: unknown): error is HeddleApiError {
  return error instanceof HeddleApiError && error.status === 0 && !isTimeout(error);
}

/** The same request may succeed later. The client has already repeated it, as often as `retries` says. */
export function isRetryable(error: unknown): error is HeddleApiError {
  return error instanceof HeddleApiError && mayPass(error);
}

function statusPredicate<Status extends number>(status: Status): StatusPredicate<Status> {
  const matches = (error: unknown, operationId?: string) => {
    if (!(error instanceof HeddleApiError) || error.status !== status) return false;
    return operationId === undefined || (error.operationId === operationId && error.body instanceof Object);
  };
  return matches as StatusPredicate<Status>;
}
