import { HeddleApiError } from "./error.js";
import { excerpt } from "./excerpt.js";
import type { OutgoingRequest } from "./request.js";

/** The error of a successful response that is not JSON: another server, or a page of a proxy. */
export function notJson(
  outgoing: OutgoingRequest,
  { status, headers }: Response,
  body: string,
  cause?: unknown,
): HeddleApiError {
  const [mediaType = ""] = (headers.get("content-type") ?? "").split(";");
  const kind = /json|event-stream/.test(mediaType)
    ? `${mediaType} that is not JSON`
    : `${mediaType || "text"} instead of JSON`;
  return new HeddleApiError(outgoing, { status, headers, body, cause, reason: `${kind}: ${excerpt(body)}` });
}
