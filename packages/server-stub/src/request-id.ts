import type { HttpResponse } from "./http.js";

/** The header with the id of a request; responses have it, and requests may. */
export const requestIdHeader = "x-request-id";

/** No spaces and no control characters: the id is also written to logs. */
const acceptable = /^[\x21-\x7e]{1,128}$/;

/** The id that the client gave, where it has 1 to 128 visible ASCII characters; otherwise a random UUID. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && acceptable.test(given) ? given : crypto.randomUUID();
}

export function withId(response: HttpResponse, id: string): HttpResponse {
  return { ...response, headers: { ...response.headers, [requestIdHeader]: id } };
}
