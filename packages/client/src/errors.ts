export { HeddleApiError } from "./error.js";
export type { ErrorBody } from "./error-bodies.js";
export {
  isBadRequest,
  isConflict,
  isConnectionError,
  isForbidden,
  isInvalid,
  isNotFound,
  isRateLimited,
  isRetryable,
  isServerError,
  isTimeout,
  isTooLarge,
  isUnauthorized,
} from "./error-kinds.js";
