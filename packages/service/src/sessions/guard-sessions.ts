import { securityHeaders } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { isKnownHost, isOwnOrigin } from "./session-hosts.js";
import { sessionHeader } from "./session-cookie.js";

/**
 * Keeps pages of other origins, and names that are pointed at this service, from logging in and from using a session:
 * requests with the header of a session, and those that are about sessions. Origins that may use the service with a key
 * (CORS) may not use sessions.
 */
export function guardSessions(next: HttpServer, publicUrls: readonly string[]): HttpServer {
  return (request) => {
    if (request.header(sessionHeader) === undefined && !isAboutSessions(request.target)) return next(request);
    const refused = refusalOf(request, publicUrls);
    return refused === undefined ? next(request) : Promise.resolve(refused);
  };
}

/** As the router reads a path: it decodes each segment. */
function isAboutSessions(target: string): boolean {
  const segments = target.split("?", 1)[0]?.split("/").filter(Boolean).map(decoded) ?? [];
  return segments[segments[0] === "traces" ? 1 : 0] === "sessions";
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function refusalOf(request: HttpRequest, publicUrls: readonly string[]): HttpResponse | undefined {
  // Programs may leave it out, browsers do not.
  const host = request.header("host");
  if (host !== undefined && !isKnownHost(host, publicUrls)) {
    const url = `https://${host.replace(/[^\w.:-]/g, "")}`;
    return refusal(421, `Sessions do not work under the name ${host}: set HEDDLE_PUBLIC_URL to ${url} for that`);
  }
  const site = request.header("sec-fetch-site");
  const origin = request.header("origin");
  const isForeign = site !== undefined && site !== "same-origin" && site !== "none";
  if (isForeign || (origin !== undefined && !isOwnOrigin(origin, host ?? "", publicUrls))) {
    return refusal(403, `Pages of the origin ${origin ?? "that the browser did not name"} may not use sessions`);
  }
  return undefined;
}

function refusal(status: number, reason: string): HttpResponse {
  const headers = { "content-type": "application/json", ...securityHeaders };
  return { status, headers, body: JSON.stringify({ reason, detail: reason }) };
}
