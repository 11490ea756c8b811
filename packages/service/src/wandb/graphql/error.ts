/** An error that the client gets in the `errors` of the response. */
export class GraphqlError extends Error {
  override name = "GraphqlError";
  constructor(
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }
}
