import type { OutgoingRequest } from "./request.js";

/** The inputs that are query parameters or headers. Those of the path follow from the names in its braces. */
export interface InputLocations {
  readonly query?: readonly string[];
  readonly headers?: readonly string[];
}

/** An operation without a body: what is not in the path goes into the query. */
export function withQuery(
  operationId: string,
  operation: string,
  input: object = {},
  locations?: InputLocations,
): OutgoingRequest {
  const { path, headers, rest } = sortInput(operation, input, locations);
  return { operationId, operation, path, query: rest, headers };
}

/** An operation with a JSON body: the inputs that are not in the path, query or headers are the body. */
export function withJson(
  operationId: string,
  operation: string,
  input: object = {},
  locations?: InputLocations,
): OutgoingRequest {
  const { path, query, headers, rest } = sortInput(operation, input, locations);
  const body = () => JSON.stringify(rest);
  return { operationId, operation, path, query, headers: { "content-type": "application/json", ...headers }, body };
}

/** Sorts the properties of an operation's input object into path, query, headers and the rest. */
export function sortInput(operation: string, input: object, { query = [], headers = [] }: InputLocations = {}) {
  const rest: Record<string, unknown> = { ...input };
  const take = (names: readonly string[]) => {
    const taken: Record<string, string> = {};
    for (const name of names) {
      if (rest[name] !== undefined && rest[name] !== null) taken[name] = rest[name] as string;
      delete rest[name];
    }
    return taken;
  };
  return {
    path: take(Array.from(operation.matchAll(/\{([^{}]+)\}/g), ([, name = ""]) => name)),
    query: take(query),
    headers: take(headers),
    rest,
  };
}
