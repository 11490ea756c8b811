import { securityHeaders } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer, Interceptor } from "@heddle/server-stub";
import { isKnownHost, isOwnOrigin } from "./session-hosts.js";
import { sessionHeader } from "./session-cookie.js";

/**
 * Keeps pages of other origins, and names that are pointed at this service, from using a session: of requests with the header of
 * one, whatever they ask for. Origins that may use the service with a key (CORS) may not use sessions.
 */
export function guardSessions(next: HttpServer, publicUrls: readonly string[]): HttpServer {
  return (request) => {
    const refused = request.header(sessionHeader) === undefined ? undefined : refusalOf(request, publicUrls);
    return refused === undefined ? next(request) : Promise.resolve(refused);
  };
}

/** Keeps the same from logging in and out, which needs no header of a session. */
export function guardLogIns<Caller>(publicUrls: readonly string[]): Interceptor<Caller> {
  return (next) => (request, context) => {
    const refused = context.operation?.group === "sessions" ? refusalOf(request, publicUrls) : undefined;
    return refused === undefined ? next(request, context) : Promise.resolve(refused);
  };
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
