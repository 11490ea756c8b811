/**
 * The bodies of error responses by operation and status. Each interface that a program imports adds its operations.
 */
export interface ErrorBodies {}

/** Operations that the specification gives an error response of this status, by operationId. */
export type OperationsWith<Status extends number> = {
  [Id in keyof ErrorBodies]: Status extends keyof ErrorBodies[Id] ? Id : never;
}[keyof ErrorBodies];

/**
 * Body of an error response, as the specification describes it: `ErrorBody<"objRead", 404>`, or of any status that the
 * operation describes: `ErrorBody<"objRead">`.
 */
export type ErrorBody<
  Id extends keyof ErrorBodies,
  Status extends keyof ErrorBodies[Id] = keyof ErrorBodies[Id],
> = ErrorBodies[Id][Status];
