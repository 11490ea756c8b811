import { HeddleApiError } from "@heddle/client/tracing";

/** Whether the service says that what was asked for is not there. */
export const isNotFound = (error: unknown): boolean => error instanceof HeddleApiError && error.status === 404;
